// Types of `libraries/preact.js`. The console serves the package `preact` at that address.
export { Component, createRef, Fragment, h, render } from 'preact'
