/** Posts the messages of each receiver in order, and at least once. */
import { createHmac, randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { reportNames } from '../../schema/index.ts'
import type { Clock, Waiting } from '../../src/clock.ts'
import { signingKey } from '../../src/config/checks.ts'
import type { Config, ReceiverConfig } from '../../src/config/config.ts'
import { asSyncError, SyncError } from '../../src/errors.ts'
import { formatInstant, HOUR_MS, SECOND_MS, toMillis } from '../../src/instant.ts'
import type { Log } from '../../src/log.ts'
import type { NewData, NewDataRequest } from '../../src/warehouse/books/newData.ts'
import { Message, type NoticeBook, type ReceiverState } from './memory.ts'
import { counted } from '../../src/words.ts'

export interface DeliveriesOptions {
  readonly config: Pick<Config, 'service' | 'notify'>
  readonly book: NoticeBook
  /** Reads the rows published since the receiver's cursors. Resolves to undefined if nothing is published yet. */
  readonly readNewData: (since: NewDataRequest) => Promise<NewData | undefined>
  readonly clock: Clock
  readonly log: Log
  readonly onMessage: (event: string, outcome: 'delivered' | 'failed' | 'dropped') => void
}

export type MessageFields = Pick<Message, 'event' | 'message'> & Partial<Message>

/** Maximum number of notices that wait for one receiver. After that, a new notice replaces the oldest one. */
export const WAITING_MAX = 1_000

export class Deliveries {
  readonly receivers: readonly ReceiverConfig[]
  readonly #options: DeliveriesOptions

  constructor(options: DeliveriesOptions) {
    this.#options = options
    this.receivers = options.config.notify?.receivers ?? []
    const { memory } = options.book
    const states = this.receivers.map(({ name, takes }) => {
      // A new receiver first gets the notices of conditions that have not ended.
      const waiting = takes === 'notices' ? Object.values(memory.firing) : []
      return [name, memory.receivers[name] ?? { waiting, cursors: {} }] as const
    })
    memory.receivers = Object.fromEntries(states)
  }

  add(fields: MessageFields): Message {
    const { log, onMessage } = this.#options
    const notice = newMessage(fields, this.#options)
    for (const { name, takes } of this.receivers) {
      if (takes !== 'notices') continue
      const { waiting } = this.#stateOf(name)
      waiting.push(notice)
      const dropped = waiting.length > WAITING_MAX ? waiting.shift() : undefined
      if (dropped === undefined) continue
      log.error({ receiver: name }, `${name} has not accepted ${WAITING_MAX} notices: the oldest one is dropped`)
      onMessage(dropped.event, 'dropped')
    }
    return notice
  }

  /** Posts the waiting messages of a receiver in order. Throws DELIVERY_FAILED if one is not accepted. */
  async deliver(name: string, signal: AbortSignal): Promise<void> {
    const receiver = this.receivers.find((each) => each.name === name)
    if (receiver === undefined) return
    for (;;) {
      if (receiver.takes === 'data' && this.#stateOf(name).waiting.length === 0) await this.#collect(receiver)
      const [message] = this.#stateOf(name).waiting
      if (message === undefined) return
      await this.#deliverOne(receiver, message, signal)
    }
  }

  #stateOf(name: string): ReceiverState {
    return this.#options.book.memory.receivers[name] as ReceiverState
  }

  /** Adds messages about new rows. Saves them before sending, so that a retry after a crash has the same ids. */
  async #collect({ name, reports = reportNames }: ReceiverConfig): Promise<void> {
    const { book, readNewData } = this.#options
    const { waiting, cursors } = this.#stateOf(name)
    const found = await readNewData({ cursors, reports })
    if (found === undefined || reports.every((report) => cursors[report] === found.to)) return
    for (const { report, ...data } of found.changed) {
      const { inserted, updated, deleted } = data.rows
      const message = `${report}: ${counted(inserted, 'row')} inserted, ${updated} updated, ${deleted} deleted`
      waiting.push(newMessage({ event: 'data.published', report, message, data }, this.#options))
    }
    // Unchanged reports get the new cursor too, because old cursors expire.
    for (const report of reports) cursors[report] = found.to
    await book.save()
  }

  async #deliverOne(receiver: ReceiverConfig, message: Message, signal: AbortSignal): Promise<void> {
    const { book, clock, log, onMessage } = this.#options
    const { name, secret } = receiver
    const state = this.#stateOf(name)
    try {
      await postMessage(receiver, message, { clock, signal })
      onMessage(message.event, 'delivered')
      if (state.failing !== undefined) log.info({ receiver: name }, `${name} accepts messages again`)
      delete state.failing
      state.waiting = state.waiting.filter((each) => each !== message)
    } catch (error) {
      signal.throwIfAborted()
      onMessage(message.event, 'failed')
      const { since = formatInstant(clock.now()), tries = 0 } = state.failing ?? {}
      state.failing = { since, tries: tries + 1, why: asSyncError(error).message }
      log.warn({ receiver: name, ...state.failing }, `${name} did not accept a message; it is sent again`)
      await secret.readAgain()
      throw error
    } finally {
      await book.save()
    }
  }
}

function newMessage(fields: MessageFields, { config, clock }: Pick<DeliveriesOptions, 'config' | 'clock'>): Message {
  const from = { service: config.service.baseUrl.host, host: hostname() }
  // `parse` puts the keys into a fixed order, so that the body is the same when it is sent again after a restart.
  return Message.parse({ id: randomUUID(), at: formatInstant(clock.now()), ...from, ...fields })
}

const TEST = {
  event: 'notify.test',
  state: 'resolved',
  message: 'A test by "tidemark check". Nothing is wrong.',
} as const

export const postTest = (
  receiver: ReceiverConfig,
  at: Pick<DeliveriesOptions, 'config' | 'clock'> & { readonly signal: AbortSignal },
): Promise<SyncError | undefined> => postMessage(receiver, newMessage(TEST, at), at).then(() => undefined, asSyncError)

const ANSWER_MS_MAX = 10_000
const RETRY_AFTER_MS_MAX = HOUR_MS

async function postMessage(receiver: ReceiverConfig, message: Message, { clock, signal }: Waiting): Promise<void> {
  const { url, ...request } = requestOf(receiver, message, Math.floor(toMillis(clock.now()) / SECOND_MS))
  const ending = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS_MAX)])
  const response = await fetch(url, { method: 'POST', redirect: 'manual', ...request, signal: ending }).catch(reasonOf)
  const isAnswer = typeof response !== 'string'
  if (isAnswer) await response.body?.cancel()
  if (isAnswer && response.ok) return
  const why = isAnswer ? `status ${response.status}` : response
  const seconds = isAnswer ? Number(response.headers.get('retry-after') ?? 0) : 0
  throw new SyncError('DELIVERY_FAILED', `${url.host} did not accept a message: ${why}`, {
    cure: `Check the receiver and the setting ${receiver.name}. Messages wait and are sent again by themselves.`,
    data: seconds > 0 ? { retryAfterMs: Math.min(RETRY_AFTER_MS_MAX, seconds * SECOND_MS) } : {},
  })
}

/** Returns only a code or a name: the error's message can contain the webhook's address with its secrets. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined
  if (typeof cause === 'object' && cause !== null && 'code' in cause) return String(cause.code)
  return error instanceof Error ? error.name : 'unknown'
}

/** Messages in the format `plain` are signed as the Standard Webhooks specification requires. */
function requestOf({ format, webhook, secret }: ReceiverConfig, message: Message, unixS: number) {
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

const PAGERDUTY_SUMMARY_CHARS_MAX = 1_024

const BODIES: Readonly<Record<ReceiverConfig['format'], (message: Message, secret: string) => object>> = {
  plain: (message) => message,
  slack: ({ event, state, message, cure, service, host }) => {
    const noticeHead = state === 'firing' ? 'Problem' : 'Over'
    const head = event === 'data.published' ? 'New data' : event === 'notify.test' ? 'Test' : noticeHead
    const advice = state === 'firing' ? `\nWhat to do: ${cure ?? ''}` : ''
    const text = `*${head}* (${service} on ${host})\n${message}${advice}`
    // Slack would read these characters as markup.
    return { text: text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;') }
  },
  pagerduty: (message, secret) => ({
    routing_key: secret,
    event_action: message.state === 'firing' ? 'trigger' : 'resolve',
    dedup_key: `tidemark ${message.service} ${message.host} ${message.condition ?? message.id}`,
    payload: {
      summary: message.message.slice(0, PAGERDUTY_SUMMARY_CHARS_MAX),
      source: message.host,
      severity: 'error',
      custom_details: message,
    },
  }),
}
