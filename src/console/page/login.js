/** The login page: sends the token, then opens the console. */
import { act, failureText } from './api.js'

const form = /** @type {HTMLFormElement} */ (document.getElementById('login'))
const failure = /** @type {HTMLElement} */ (document.getElementById('failure'))
const field = /** @type {HTMLInputElement} */ (document.getElementById('token'))

form.addEventListener('submit', (event) => {
  event.preventDefault()
  void logIn()
})

async function logIn() {
  failure.textContent = ''
  try {
    await act('/api/session', { token: field.value })
    location.assign(`/${location.hash}`)
  } catch (error) {
    failure.textContent = failureText(error)
    field.select()
  }
}
