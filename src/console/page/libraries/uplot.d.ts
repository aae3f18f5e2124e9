// Types of `libraries/uplot.js`. The console serves the package `uplot` at that address.
export { default } from 'uplot'
