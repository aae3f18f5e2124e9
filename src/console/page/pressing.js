/** Delays redraws while the user presses an element: if a redraw replaced the element, its click would be lost. */
import { after } from './clock.js'

/** Milliseconds after which a press counts as ended. A pointer that leaves the window causes no release event. */
const PRESS_MS_MAX = 3_000
/** Milliseconds from a finger's release to its click event. If the finger has moved away, no click follows. */
const TAP_MS_MAX = 400

/** @type {Set<() => void>} */
const waiting = new Set()
/** Cancels the timer that ends a press; undefined while no element is pressed. @type {(() => void) | undefined} */
let cancelTimer

/** Resolves when no element is pressed. @returns {Promise<void>} */
export const released = () =>
  cancelTimer === undefined ? Promise.resolve() : new Promise((resolve) => void waiting.add(resolve))

/** Delays redraws until `release` is called. That happens after `ms` milliseconds at the latest. @param {number} ms */
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
// The space bar causes a click only when it is released. So a press begins when it goes down. Other keys cause a click
// at once.
addEventListener('keydown', ({ key, repeat }) => key === ' ' && !repeat && hold(PRESS_MS_MAX), CAPTURE)
addEventListener('pointerup', ({ pointerType }) => endIn(pointerType === 'mouse' ? 0 : TAP_MS_MAX), CAPTURE)
// A click ends the press. A mouse causes the click when its button is released, so the press ends at once. A finger
// causes the click some milliseconds after it was lifted, so the press lasts until then.
for (const end of ['keyup', 'click', 'pointercancel']) addEventListener(end, () => endIn(0), CAPTURE)
// `blur` of the window ends a press. `blur` of an element does not: it occurs when another element is pressed.
addEventListener('blur', ({ target }) => target === window && release(), CAPTURE)
