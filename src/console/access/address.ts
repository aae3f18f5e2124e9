/** Checks tokens and Host headers. A console on loopback accepts only loopback names, which prevents DNS rebinding. */
import { SyncError } from '../../errors.ts'
import type { Secret } from '../../secret.ts'

export const TOKEN_LENGTH_MIN = 16

export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host)

type Tokens = Partial<Record<'token' | 'viewToken', Secret | undefined>>

/** Throws CONFIG_INVALID for equal tokens, or if others can reach the console and a token is missing or short. */
export function checkTokens(host: string, { token, viewToken }: Tokens): void {
  if (token !== undefined && token.reveal() === viewToken?.reveal())
    throw new SyncError('CONFIG_INVALID', 'the two tokens of the console are equal, so every login could act', {
      cure: 'Set TIDEMARK_CONSOLE_VIEW_TOKEN to another value, for instance to the output of "openssl rand -hex 24".',
    })
  if (isLoopback(host)) return
  const isLong = (each: Secret) => each.reveal().length >= TOKEN_LENGTH_MIN
  if (token !== undefined && [token, viewToken ?? token].every(isLong)) return
  const short = token !== undefined && isLong(token) ? 'TIDEMARK_CONSOLE_VIEW_TOKEN' : 'TIDEMARK_CONSOLE_TOKEN'
  const found = token === undefined ? `there is no ${short}` : `${short} is shorter`
  const what = `console.host is ${host}, which others can reach: the console's token must have ${TOKEN_LENGTH_MIN} characters or more, and ${found}`
  const cure = `Set ${short}, for instance to the output of "openssl rand -hex 24", or listen on 127.0.0.1 and put a proxy with TLS before it.`
  throw new SyncError('CONFIG_INVALID', what, { cure })
}

/** Checks a Host header. If the console is not on loopback, any name is valid, because its DNS name is unknown. */
export function isOurName(header: string | undefined, host: string): boolean {
  if (!isLoopback(host)) return header !== undefined
  const name = /^(\[[0-9a-f:.]+\]|[^:@/\s]+)(?::\d{1,5})?$/i.exec(header ?? '')?.[1]?.toLowerCase()
  return name !== undefined && (name === 'localhost' || name === '[::1]' || isLoopback(name))
}

export const addressOf = (host: string, port: number): string =>
  `http://${host.includes(':') ? `[${host}]` : host}:${port}`
