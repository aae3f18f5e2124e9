/** Writes a message in the format of its receiver. Plain messages are signed after the Standard Webhooks specification. */
import { createHmac } from 'node:crypto'
import { signingKey } from '../../src/config/checks.ts'
import type { ReceiverConfig } from '../../src/config/config.ts'
import type { Message } from './memory.ts'

/** Returns the request of one try at the time `unixS` (seconds since 1970). */
export function requestOf({ format, webhook, secret }: ReceiverConfig, message: Message, unixS: number) {
  const revealed = secret.reveal()
  const body = JSON.stringify(BODIES[format](message, revealed))
  const key = format === 'plain' ? signingKey(revealed) : undefined
  const signature = key && createHmac('sha256', key).update(`${message.id}.${unixS}.${body}`).digest('base64')
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'tidemark',
    'webhook-id': message.id,
    'webhook-timestamp': String(unixS),
    ...(signature !== undefined && { 'webhook-signature': `v1,${signature}` }),
  }
  return { url: webhook ?? new URL(revealed), headers, body }
}

/** PagerDuty's limit of a summary. */
const SUMMARY_CHARS_MAX = 1_024

const BODIES: Readonly<Record<ReceiverConfig['format'], (message: Message, secret: string) => object>> = {
  plain: (message) => message,
  slack: ({ event, state, message, cure, service, host }) => {
    const noticeHead = state === 'firing' ? 'Problem' : 'Over'
    const head = event === 'data.published' ? 'New data' : event === 'notify.test' ? 'Test' : noticeHead
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
