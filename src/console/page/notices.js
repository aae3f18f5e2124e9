/** Notices, which screen readers announce, and the dialog for confirmations. */
import { failureText } from './api.js'
import { after } from './clock.js'
import { byId } from './html.js'
import { change, state } from './state.js'

const SHOWN_MS = 9_000

/** @param {string} text @param {'good' | 'bad'} [tone] */
export function notice(text, tone = 'good') {
  const added = { text, tone }
  change({ notices: [...state.notices, added] })
  removeLater(added)
}

/** A notice stays while the window is hidden. @param {typeof state.notices[number]} old */
function removeLater(old) {
  after(SHOWN_MS, () => {
    if (document.hidden) document.addEventListener('visibilitychange', () => removeLater(old), { once: true })
    else change({ notices: state.notices.filter((each) => each !== old) })
  })
}

/** @param {unknown} error */
export const noticeOf = (error) => notice(failureText(error), 'bad')

/** @param {import('./state.js').Question} question @returns {Promise<boolean>} */
export function confirmed(question) {
  change({ question })
  const dialog = /** @type {HTMLDialogElement} */ (byId('ask'))
  dialog.returnValue = ''
  dialog.showModal()
  return new Promise((resolve) => {
    dialog.addEventListener('close', () => resolve(dialog.returnValue === 'yes'), { once: true })
  })
}
