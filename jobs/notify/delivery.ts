/**
 * Sends one notice to the webhook as a POST. The signature covers time and body, so that the receiver recognises forged
 * and repeated notices. Redirects are not followed: the operator has configured no other address.
 */
import { createHmac } from 'node:crypto'
import type { NotifyConfig } from '../../src/config/config.ts'
import type { Notice } from './memory.ts'

/** Time limit (ms) for the response. A slow receiver should accept the notice first, and process it later. */
const ANSWER_MS_MAX = 10_000

export type Delivery = { readonly ok: true } | { readonly ok: false; readonly why: string }

/** Sends the notice. Returns `ok: true`, or the reason of the failure in `why`. Never rejects. */
export async function deliver(
  { webhook, secret }: Pick<NotifyConfig, 'webhook' | 'secret'>,
  notice: Notice,
  { unixS, signal }: { unixS: number; signal: AbortSignal },
): Promise<Delivery> {
  const body = JSON.stringify(notice)
  const signature = createHmac('sha256', secret.reveal()).update(`${unixS}.${body}`).digest('hex')
  try {
    const response = await fetch(webhook, {
      method: 'POST',
      redirect: 'manual',
      headers: {
        'content-type': 'application/json',
        'user-agent': 'tidemark',
        'tidemark-timestamp': String(unixS),
        'tidemark-signature': `v1=${signature}`,
        'tidemark-notice': notice.id,
      },
      body,
      signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS_MAX)]),
    })
    await response.body?.cancel()
    if (response.ok) return { ok: true }
    const isRedirect = response.status >= 300 && response.status < 400
    return { ok: false, why: isRedirect ? `a redirect (${response.status})` : `status ${response.status}` }
  } catch (error) {
    return { ok: false, why: whyOf(error) }
  }
}

/** Returns a code such as ECONNREFUSED, and not the error's message, which may contain the address. */
function whyOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined
  if (typeof cause === 'object' && cause !== null && 'code' in cause) return String(cause.code)
  return error instanceof Error ? error.name : 'unknown'
}
