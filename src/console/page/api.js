/** Talks to the console's own API: reads, and acts with the header that no page of another site can send. */

import { timeLimit } from './clock.js'

/** Nothing that is read takes as long. */
const READ_MS_MAX = 30_000
/** What takes longer is begun and looked at again; only a plan asks the service first. */
const ACT_MS_MAX = 120_000

/** The code where nothing answered. */
export const LOST = 'WORKER_LOST'

/** What went wrong and what to do about it. */
export class Failure extends Error {
  /** @param {{ code: string, message: string, cure: string }} problem */
  constructor({ code, message, cure }) {
    super(message)
    this.code = code
    this.cure = cure
  }
}

/**
 * @template Result
 * @param {string} path
 * @returns {Promise<Result>}
 */
export const read = (path) => ask(path, { headers: { accept: 'application/json' }, signal: timeLimit(READ_MS_MAX) })

/**
 * @template Result
 * @param {string} path
 * @param {object} [body]
 * @param {'POST' | 'DELETE'} [method]
 * @returns {Promise<Result>}
 */
export function act(path, body, method = 'POST') {
  const own = { 'x-tidemark-console': '1', accept: 'application/json' }
  const sent = body === undefined ? {} : { body: JSON.stringify(body) }
  const headers = body === undefined ? own : { ...own, 'content-type': 'application/json' }
  return ask(path, { method, headers, ...sent, signal: timeLimit(ACT_MS_MAX) })
}

/** @param {string} path @param {RequestInit} init */
async function ask(path, init) {
  const response = await fetch(path, { ...init, credentials: 'same-origin', redirect: 'error' }).catch(lost)
  const said = await response.json().catch(response.ok ? lost : () => ({}))
  if (response.ok) return said
  if (response.status === 401 && path !== '/api/session') location.assign('/login')
  throw new Failure(said.error ?? { code: String(response.status), message: 'the worker answered oddly', cure: '' })
}

/** No answer, or half of one. @returns {never} */
function lost() {
  throw new Failure({
    code: LOST,
    message: 'the worker does not answer',
    cure: 'Look whether it runs; this page goes on by itself when it is back.',
  })
}
