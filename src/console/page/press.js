/**
 * Holds the page still while somebody presses something. An element that is replaced between press and release is never
 * clicked, so on a page that draws itself anew a press would be lost without a word, or meet what came into its place.
 */
import { after } from './clock.js'

/** A release may never come: the pointer left the window, or the window was left. */
const PRESS_MS_MAX = 3_000
/** The click of a finger comes as an event of its own behind the release; a finger that was drawn away makes none. */
const TAP_MS_MAX = 400

/** @type {Set<() => void>} */
const waiting = new Set()
/** While something is pressed. @type {(() => void) | undefined} */
let callOff

/** Resolves as soon as nothing is pressed, at once where nothing is. @returns {Promise<void>} */
export const released = () =>
  callOff === undefined ? Promise.resolve() : new Promise((resolve) => void waiting.add(resolve))

/** Pressed for so long yet. @param {number} ms */
function hold(ms) {
  callOff?.()
  callOff = after(ms, release)
}

function release() {
  callOff?.()
  callOff = undefined
  for (const goOn of waiting) goOn()
  waiting.clear()
}

/** @param {number} ms */
const endIn = (ms) => callOff !== undefined && hold(ms)

const CAPTURE = { capture: true }
addEventListener('pointerdown', () => hold(PRESS_MS_MAX), CAPTURE)
// A button is pressed by the space bar as by a pointer; the other keys act as they go down.
addEventListener('keydown', ({ key, repeat }) => key === ' ' && !repeat && hold(PRESS_MS_MAX), CAPTURE)
addEventListener('pointerup', ({ pointerType }) => endIn(pointerType === 'mouse' ? 0 : TAP_MS_MAX), CAPTURE)
// A click is told behind the release, in the same turn where no finger made it.
for (const end of ['keyup', 'click', 'pointercancel']) addEventListener(end, () => endIn(0), CAPTURE)
// The window's own: an element loses the focus as another one is pressed.
addEventListener('blur', ({ target }) => target === window && release(), CAPTURE)
