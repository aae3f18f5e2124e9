/**
 * Delays redraws while something is pressed. An element that is replaced between press and release is never clicked: the
 * press would be lost, or would reach the element that replaced it.
 */
import { after } from './clock.js'

/** Milliseconds after which a press counts as ended: no release is reported if the pointer leaves the window. */
const PRESS_MS_MAX = 3_000
/** Milliseconds between the release of a finger and its click event. No click comes if the finger moved away. */
const TAP_MS_MAX = 400

/** @type {Set<() => void>} */
const waiting = new Set()
/** Defined while something is pressed. @type {(() => void) | undefined} */
let cancelTimer

/** Resolves when nothing is pressed. @returns {Promise<void>} */
export const released = () =>
  cancelTimer === undefined ? Promise.resolve() : new Promise((resolve) => void waiting.add(resolve))

/** Delays redraws for at most this time. @param {number} ms */
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
// The space bar acts on release. Other keys act when pressed, so they need no delay.
addEventListener('keydown', ({ key, repeat }) => key === ' ' && !repeat && hold(PRESS_MS_MAX), CAPTURE)
addEventListener('pointerup', ({ pointerType }) => endIn(pointerType === 'mouse' ? 0 : TAP_MS_MAX), CAPTURE)
// The click event follows the release: at once for a mouse, later for a finger.
for (const end of ['keyup', 'click', 'pointercancel']) addEventListener(end, () => endIn(0), CAPTURE)
// Only the window's own event counts: an element also loses the focus when another one is pressed.
addEventListener('blur', ({ target }) => target === window && release(), CAPTURE)
