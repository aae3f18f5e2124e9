/** The only file of the page that reads the time or sets timers. Tests replace this file. */

export const nowMs = () => Date.now()

/** @param {number} ms @param {() => void} action @returns {() => void} cancels the timer */
export function after(ms, action) {
  const timer = setTimeout(action, ms)
  return () => clearTimeout(timer)
}

/** @param {number} ms @returns {Promise<void>} */
export const sleep = (ms) => new Promise((resolve) => void after(ms, resolve))

/** @param {number} ms */
export const timeLimit = (ms) => AbortSignal.timeout(ms)
