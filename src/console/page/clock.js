/** The page's one door to time, as src/clock.ts is the program's. */

export const nowMs = () => Date.now()

/** @param {number} ms @param {() => void} action @returns {() => void} calls it off */
export function after(ms, action) {
  const timer = setTimeout(action, ms)
  return () => clearTimeout(timer)
}

/** @param {number} ms @returns {Promise<void>} */
export const sleep = (ms) => new Promise((resolve) => void after(ms, resolve))

/** Ends what is asked with it. @param {number} ms */
export const timeLimit = (ms) => AbortSignal.timeout(ms)
