/** Requests to the console's API. Requests for actions have a header that other sites cannot send. */
import { timeLimit } from './clock.js'

const READ_MS_MAX = 30_000
/** A dry run of a backfill can take a long time, because it sends requests to the service. */
const ACT_MS_MAX = 120_000

export const LOST = 'WORKER_LOST'

export class Failure extends Error {
  /** @param {{ code: string, message: string, cure: string }} problem */
  constructor({ code, message, cure }) {
    super(message)
    this.code = code
    this.cure = cure
  }
}

/** @param {unknown} error */
export const failureText = (error) => (error instanceof Failure ? `${error.message}. ${error.cure}` : String(error))

/** @template Result @param {string} path @returns {Promise<Result>} */
export const read = (path) => ask(path, { headers: { accept: 'application/json' }, signal: timeLimit(READ_MS_MAX) })

/**
 * @template Result @param {string} path @param {object} [body] @returns {Promise<Result>}
 * @param {{ method?: 'POST' | 'DELETE', signal?: AbortSignal }} [options]
 */
export function act(path, body, { method = 'POST', signal = timeLimit(ACT_MS_MAX) } = {}) {
  const own = { 'x-tidemark-console': '1', accept: 'application/json' }
  const sent = body === undefined ? {} : { body: JSON.stringify(body) }
  const headers = body === undefined ? own : { ...own, 'content-type': 'application/json' }
  return ask(path, { method, headers, ...sent, signal })
}

/** @param {string} path @param {RequestInit} init */
async function ask(path, init) {
  const response = await fetch(path, { ...init, credentials: 'same-origin', redirect: 'error' }).catch(lost)
  const body = await response.json().catch(response.ok ? lost : () => ({}))
  if (response.ok) return body
  if (response.status === 401 && path !== '/api/session') location.assign('/login')
  throw new Failure(
    body.error ?? { code: String(response.status), message: 'the answer of the worker is not valid', cure: '' },
  )
}

/** @returns {never} */
function lost() {
  throw new Failure({
    code: LOST,
    message: 'the worker does not answer',
    cure: 'Check that it is running; this page continues by itself when it is back.',
  })
}
