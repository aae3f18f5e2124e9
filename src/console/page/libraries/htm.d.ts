// Types of the library that the console serves under this path.
export { default } from 'htm'
