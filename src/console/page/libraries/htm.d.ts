// Types of the library that the console serves at this address.
export { default } from 'htm'
