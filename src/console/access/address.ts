/**
 * Where the console may listen and by which names it may be called. On loopback a page of another site could reach it
 * by a name of its own that points here (DNS rebinding), so only loopback's own names are answered; on any other
 * address everybody in the network can knock, so a token that somebody chose with care is needed.
 */
import { SyncError } from '../../errors.ts'
import type { Secret } from '../../secret.ts'

/** Below it, a token can be guessed by a machine that tries long enough. */
export const TOKEN_LENGTH_MIN = 16

export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host)

/** Error: CONFIG_INVALID for an address that others reach without a token that is long enough. */
export function checkReach(host: string, token: Secret | undefined): void {
  if (isLoopback(host)) return
  const length = token?.reveal().length ?? 0
  if (length >= TOKEN_LENGTH_MIN) return
  const found = token === undefined ? 'there is no TIDEMARK_CONSOLE_TOKEN' : `TIDEMARK_CONSOLE_TOKEN has ${length}`
  throw new SyncError(
    'CONFIG_INVALID',
    `console.host is ${host}, which others can reach: the console's token must have ${TOKEN_LENGTH_MIN} characters or more, and ${found}`,
    {
      cure: `Set TIDEMARK_CONSOLE_TOKEN, for instance to the output of "openssl rand -hex 24", or listen on 127.0.0.1 and put a proxy with TLS before it.`,
    },
  )
}

/** Whether a `Host` header names this console. Off loopback any name may be right. */
export function isOurName(header: string | undefined, host: string): boolean {
  if (!isLoopback(host)) return header !== undefined
  const name = /^(\[[0-9a-f:.]+\]|[^:@/\s]+)(?::\d{1,5})?$/i.exec(header ?? '')?.[1]?.toLowerCase()
  return name !== undefined && (name === 'localhost' || name === '[::1]' || isLoopback(name))
}

/** As a person types it. */
export const addressOf = (host: string, port: number): string =>
  `http://${host.includes(':') ? `[${host}]` : host}:${port}`
