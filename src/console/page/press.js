/**
 * Holds the page still while somebody presses something. An element that is replaced between press and release is never
 * clicked, so on a page that draws itself anew a press would be lost without a word, or meet what came into its place.
 */
import { after } from './clock.js'

/** A release may never come: the pointer left the window, or the window was left. */
const PRESS_MS_MAX = 3_000

/** @type {Set<() => void>} */
const waiting = new Set()
/** @type {(() => void) | undefined} */
let callOff

/** Resolves as soon as nothing is pressed, at once where nothing is. @returns {Promise<void>} */
export const released = () =>
  callOff === undefined ? Promise.resolve() : new Promise((resolve) => void waiting.add(resolve))

function press() {
  callOff ??= after(PRESS_MS_MAX, release)
}

function release() {
  callOff?.()
  callOff = undefined
  for (const goOn of waiting) goOn()
  waiting.clear()
}

const CAPTURE = { capture: true }
addEventListener('pointerdown', press, CAPTURE)
// A button is pressed by the space bar as by a pointer; the other keys act as they go down.
addEventListener('keydown', ({ key }) => key === ' ' && press(), CAPTURE)
for (const end of ['pointerup', 'pointercancel', 'keyup']) {
  // The click itself comes behind the release.
  addEventListener(end, () => void after(0, release), CAPTURE)
}
// The window's own: an element loses the focus as another one is pressed.
addEventListener('blur', ({ target }) => target === window && release(), CAPTURE)
