// Types of `libraries/htm.js`: the console serves the package `htm` there.
export { default } from 'htm'
