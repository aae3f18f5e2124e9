// Types of the library that the console serves under this path.
export { Component, createRef, Fragment, h, render } from 'preact'
