/** Logs in with the token and goes to the console. */
import { act, Failure } from './api.js'
import { byId } from './dom.js'

const form = /** @type {HTMLFormElement} */ (byId('login'))
const field = /** @type {HTMLInputElement} */ (byId('token'))

form.addEventListener('submit', (event) => {
  event.preventDefault()
  void logIn()
})

async function logIn() {
  const failure = byId('failure')
  failure.textContent = ''
  try {
    await act('/api/session', { token: field.value })
    location.assign('/')
  } catch (error) {
    failure.textContent = error instanceof Failure ? `${error.message}. ${error.cure}` : String(error)
    field.select()
  }
}
