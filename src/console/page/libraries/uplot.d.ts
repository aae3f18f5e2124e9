// Types of `libraries/uplot.js`: the console serves the package `uplot` there.
export { default } from 'uplot'
