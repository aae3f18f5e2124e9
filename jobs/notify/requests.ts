/** Writes a message in the format of its receiver. Plain messages are signed after the Standard Webhooks specification. */
import { createHmac } from 'node:crypto'
import { signingKey } from '../../src/config/checks.ts'
import type { ReceiverConfig } from '../../src/config/config.ts'
import type { Message } from './memory.ts'

interface WebhookRequest {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Returns the request of one try at the time `unixS` (seconds since 1970). */
export function requestOf(receiver: ReceiverConfig, message: Message, unixS: number): WebhookRequest {
  const { format, webhook, secret } = receiver
  const body = JSON.stringify(BODIES[format](message, secret.reveal()))
  const signature = format === 'plain' ? signatureHeaders(`${message.id}.${unixS}.${body}`, secret.reveal()) : {}
  const headers = { 'content-type': 'application/json', 'user-agent': 'tidemark', ...signature }
  return { url: webhook ?? new URL(secret.reveal()), headers, body }
}

function signatureHeaders(signed: string, secret: string): Record<string, string> {
  const [id = '', unixS = ''] = signed.split('.', 2)
  const signature = createHmac('sha256', signingKey(secret) ?? '')
    .update(signed)
    .digest('base64')
  return { 'webhook-id': id, 'webhook-timestamp': unixS, 'webhook-signature': `v1,${signature}` }
}

/** PagerDuty's limit of a summary. */
const SUMMARY_CHARS_MAX = 1_024

const BODIES: Readonly<Record<ReceiverConfig['format'], (message: Message, secret: string) => object>> = {
  plain: (message) => message,
  slack: ({ event, state, message, cure, service, host }) => {
    const noticeHead = event === 'notify.test' ? 'Test' : state === 'firing' ? 'Problem' : 'Over'
    const head = event === 'data.published' ? 'New data' : noticeHead
    const advice = state === 'firing' ? `\nWhat to do: ${cure ?? ''}` : ''
    const text = `*${head}* (${service} on ${host})\n${message}${advice}`
    // Slack reads these characters as markup.
    return { text: text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;') }
  },
  // An event of the Events API v2. The end of a condition resolves the alert of its beginning.
  pagerduty: (message, secret) => ({
    routing_key: secret,
    event_action: message.state === 'firing' ? 'trigger' : 'resolve',
    dedup_key: `tidemark ${message.service} ${message.host} ${message.condition ?? message.id}`,
    payload: {
      summary: message.message.slice(0, SUMMARY_CHARS_MAX),
      source: message.host,
      severity: 'error',
      custom_details: message,
    },
  }),
}
