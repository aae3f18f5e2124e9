// Types of the library that the console serves at this address.
export { Component, createRef, Fragment, h, render } from 'preact'
