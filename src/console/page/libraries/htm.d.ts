// Types of `libraries/htm.js`. The console serves the package `htm` at that address.
export { default } from 'htm'
