// The library as the page loads it from this server; its types are the package's own.
export { default } from 'uplot'
