/**
 * One notice on its way to the webhook: a POST that is signed over its time and its body, so that the receiver can tell
 * ours from a stranger's and a new one from one that was recorded. Redirects are not followed: they would carry it to
 * somebody whom nobody configured.
 */
import { createHmac } from 'node:crypto'
import type { NotifyConfig } from '../../src/config/config.ts'
import type { Notice } from './memory.ts'

/** A receiver that takes longer has to take it first and work afterwards. */
const ANSWER_MS_MAX = 10_000

export type Delivery = { readonly ok: true } | { readonly ok: false; readonly why: string }

/** Never rejects. */
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

/** A code such as ECONNREFUSED; the message may hold the address. */
function whyOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined
  if (typeof cause === 'object' && cause !== null && 'code' in cause) return String(cause.code)
  return error instanceof Error ? error.name : 'unknown'
}
