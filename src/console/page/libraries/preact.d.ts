// Types of `libraries/preact.js`: the console serves the package `preact` there.
export { Component, createRef, Fragment, h, render } from 'preact'
