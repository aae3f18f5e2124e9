/** Short notices in the corner, read out by screen readers, and the question before something that cannot be taken back. */
import { Failure } from './api.js'
import { after } from './clock.js'
import { byId, el, fill } from './dom.js'

const SHOWN_MS = 9_000

/** @param {string} text @param {'good' | 'bad'} [tone] */
export function notice(text, tone = 'good') {
  const shown = el('div', { class: `notice ${tone}` }, text)
  byId('notices').append(shown)
  vanish(shown)
}

/** Nobody has read it who looked elsewhere: what ends after an hour is still told when they come back. @param {Element} shown */
function vanish(shown) {
  after(SHOWN_MS, () => {
    if (document.hidden) document.addEventListener('visibilitychange', () => vanish(shown), { once: true })
    else shown.remove()
  })
}

/** @param {unknown} error */
export const noticeOf = (error) =>
  notice(error instanceof Failure ? `${error.message}. ${error.cure}` : String(error), 'bad')

/**
 * @param {{ title: string, text: string, yes: string }} question
 * @returns {Promise<boolean>}
 */
export function asked({ title, text, yes }) {
  const dialog = /** @type {HTMLDialogElement} */ (byId('ask'))
  return new Promise((resolve) => {
    let isYes = false
    const answer = (/** @type {boolean} */ given) => () => {
      isYes = given
      dialog.close()
    }
    fill(
      dialog,
      el(
        'div',
        { class: 'section' },
        el('h2', { id: 'ask-title' }, title),
        el('p', {}, text),
        el(
          'div',
          { class: 'actions' },
          el('button', { type: 'button', class: 'primary', id: 'ask-yes', click: answer(true) }, yes),
          el('button', { type: 'button', id: 'ask-no', click: answer(false) }, 'Leave it'),
        ),
      ),
    )
    // However it ends. Before it is closed nothing behind it takes the focus, and Escape need not be told as a cancel.
    dialog.addEventListener('close', () => resolve(isYes), { once: true })
    dialog.showModal()
  })
}
