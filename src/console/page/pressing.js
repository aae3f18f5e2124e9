/** Delays redraws while the user presses an element: if a redraw replaced the element, its click would be lost. */
import { after } from './clock.js'

/** The longest press. A release outside the window may cause no event, so redraws continue after this time. */
const PRESS_MS_MAX = 3_000
const TAP_MS_MAX = 400

/** @type {Set<() => void>} */
const waiting = new Set()
/** Undefined while no element is pressed. @type {(() => void) | undefined} */
let cancelTimer

/** Waits until no element is pressed. @returns {Promise<void>} */
export const released = () =>
  cancelTimer === undefined ? Promise.resolve() : new Promise((resolve) => void waiting.add(resolve))

/** Delays redraws until `release` is called, for at most `ms` milliseconds. @param {number} ms */
function hold(ms) {
  cancelTimer?.()
  cancelTimer = after(ms, release)
}

function release() {
  cancelTimer?.()
  cancelTimer = undefined
  for (const resolve of waiting) resolve()
  waiting.clear()
}

/** @param {number} ms */
const endIn = (ms) => cancelTimer !== undefined && hold(ms)

const CAPTURE = { capture: true }
addEventListener('pointerdown', () => hold(PRESS_MS_MAX), CAPTURE)
// The page is not redrawn during a press. Only the space bar clicks on release; other keys click on `keydown`.
addEventListener('keydown', ({ key, repeat }) => key === ' ' && !repeat && hold(PRESS_MS_MAX), CAPTURE)
// A mouse clicks on release. A tap clicks a few milliseconds after its release, so redraws wait longer.
addEventListener('pointerup', ({ pointerType }) => endIn(pointerType === 'mouse' ? 0 : TAP_MS_MAX), CAPTURE)
for (const end of ['keyup', 'click', 'pointercancel']) addEventListener(end, () => endIn(0), CAPTURE)
// Elements lose the focus during a press, so only the window's own `blur` ends the wait.
addEventListener('blur', ({ target }) => target === window && release(), CAPTURE)
