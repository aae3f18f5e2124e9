/** Faults on request. Example: after `5xx*3@events`, the next three requests for events receive status 503. */
import { SyncError } from '../errors.ts'
import { REPORTS, type ReportName } from './reports/index.ts'

interface FaultRule {
  readonly does: string
  readonly argument?: number | string
}

const RULES = {
  drift: {
    does: 'after every page of several, :N changes of the report follow, so that rows move between pages',
    argument: 3,
  },
  unordered: { does: 'rows are in another order at every request' },
  clamp: { does: 'pageSize is cut to :N, and the answer shows it', argument: 50 },
  raise: { does: 'pageSize is raised to :N, but the answer shows the requested size', argument: 1_000 },
  'clamp-silent': { does: 'pageSize is cut to :N, but the answer shows the requested size', argument: 50 },
  'ignore-page': {
    does: 'every pageNumber returns the first page; with :echo the answer shows the requested number',
    argument: 'first',
  },
  'from-zero': {
    does: 'pages are numbered from 0; with beyond a number after the last page is refused, even page 1',
  },
  'short-page': { does: 'the second page has half as many rows as the others, although more pages follow' },
  beyond: {
    does: 'a page after the last page, or one that reaches beyond cap, is refused with the status :N',
    argument: 400,
  },
  cap: {
    does: 'pages contain only the first :N rows; further pages are empty, or refused with beyond',
    argument: 10_000,
  },
  'total-lies': { does: 'totalCount is off by :N', argument: 1 },
  '429': { does: 'too many requests, with Retry-After :N seconds', argument: 1 },
  '5xx': { does: 'requests fail with the status :N', argument: 503 },
  reset: { does: 'the connection is destroyed in the middle of the body' },
  truncate: { does: 'the JSON is cut, with a content-length that fits the cut' },
  slow: { does: 'the answer is delayed by :N ms', argument: 500 },
  drip: { does: 'one byte of the body is sent every :N ms', argument: 200 },
  silent: { does: 'headers are sent, but no body' },
  skew: { does: "the service's clock is off by :N seconds, in the Date header and in new stamps", argument: 3_600 },
  'stamps-back': {
    does: 'edits have a stamp :N seconds in the past; for an event only the aggregate stamp is wrong',
    argument: 86_400,
  },
  'no-date': { does: 'no Date header' },
  html: { does: '200 with an HTML page' },
  'empty-body': { does: '200 with no body' },
  redirect: { does: '302 to :URL', argument: 'http://elsewhere.example/reportingapi' },
  huge: { does: 'the body is padded to :N MB', argument: 64 },
  '401-once': { does: 'one report request is answered with 401, later ones are not' },
  '401-always': { does: 'every request is answered with 401' },
  '403': { does: 'every request is answered with 403' },
  'record-403': { does: 'requests for the audit trail of the record :N are answered with 403', argument: 20_001 },
  'record-404': { does: 'requests for the audit trail of the record :N are answered with 404', argument: 20_001 },
  expire: { does: 'a token expires after :N report requests', argument: 3 },
  'duplicate-row': { does: 'each page contains its first row twice' },
  'bad-rows': {
    does: 'every :Nth row is malformed: wrong types, missing or doubled keys, odd characters',
    argument: 7,
  },
  fx: { does: 'the rate table number :N changes converted amounts without any edit', argument: 1 },
} as const satisfies Record<string, FaultRule>

export type FaultName = keyof typeof RULES

export const faultNames = Object.entries(RULES).map(([name, rule]) => ({
  name: name as FaultName,
  does: rule.does,
  argument: 'argument' in rule ? String(rule.argument) : undefined,
}))

export type FaultPlace = ReportName | 'token'

export interface Fault {
  readonly name: FaultName
  readonly text: string
  readonly place: FaultPlace | undefined
  readonly argument: string
  left: number
}

const FAULT_TEXT = /^(?<name>[a-z0-9-]+)(?:\*(?<count>\d+))?(?:@(?<place>[a-z_]+))?(?::(?<argument>.+))?$/

/** Throws USAGE_INVALID for an unknown name, report or argument, because the fault would have no effect. */
export function parseFault(text: string): Fault {
  const groups = FAULT_TEXT.exec(text.trim())?.groups ?? {}
  const { name = '', count, place, argument } = groups
  if (!Object.hasOwn(RULES, name)) {
    throw refused(`unknown fault '${text}'`, `Faults are: ${Object.keys(RULES).join(', ')}.`)
  }
  const rule: FaultRule = RULES[name as FaultName]
  if (place !== undefined && place !== 'token' && !REPORTS.includes(place)) {
    throw refused(
      `fault '${text}' names the unknown report '${place}'`,
      `Write @token or one of: ${REPORTS.join(', ')}.`,
    )
  }
  const takesText = typeof rule.argument === 'string'
  const takesNumber = typeof rule.argument === 'number' && Number.isFinite(Number(argument))
  if (argument !== undefined && !takesText && !takesNumber) {
    throw refused(`fault '${text}' has an argument that does not fit`, `${name}: ${rule.does}.`)
  }
  return {
    name: name as FaultName,
    text,
    place: place as FaultPlace | undefined,
    argument: argument ?? String(rule.argument ?? ''),
    left: count === undefined ? (name === '401-once' ? 1 : Number.POSITIVE_INFINITY) : Number(count),
  }
}

const refused = (message: string, cure: string): SyncError => new SyncError('USAGE_INVALID', message, { cure })

export class Faults {
  #active: Fault[] = []
  /** How many times a fault applied. */
  taken = 0

  constructor(texts: readonly string[]) {
    this.set(texts)
  }

  set(texts: readonly string[]): void {
    this.#active = texts.map(parseFault)
  }

  list(): string[] {
    return this.#active.filter((fault) => fault.left > 0).map((fault) => fault.text)
  }

  /** Returns the argument of the fault and counts the request, or returns undefined if the fault does not apply. */
  take(name: FaultName, place: FaultPlace): string | undefined {
    const fault = this.#find(name, place)
    if (fault === undefined) return undefined
    fault.left -= 1
    this.taken += 1
    return fault.argument
  }

  takeNumber(name: FaultName, place: FaultPlace): number | undefined {
    const argument = this.take(name, place)
    return argument === undefined ? undefined : Number(argument)
  }

  /** Returns the answer of the first fault that applies. Each function receives the argument of its fault. */
  answer<T>(place: FaultPlace, answers: Partial<Record<FaultName, (argument: string) => T>>): T | undefined {
    for (const [name, answerOf] of Object.entries(answers)) {
      const argument = this.take(name as FaultName, place)
      if (argument !== undefined) return answerOf(argument)
    }
    return undefined
  }

  peek(name: FaultName, place?: FaultPlace): string | undefined {
    return this.#find(name, place)?.argument
  }

  /** A fault without an endpoint applies to all reports, but not to token requests. */
  #find(name: FaultName, place: FaultPlace | undefined): Fault | undefined {
    if (this.#active.length === 0) return undefined
    return this.#active.find(
      (fault) =>
        fault.name === name &&
        fault.left > 0 &&
        (place === undefined || fault.place === place || (fault.place === undefined && place !== 'token')),
    )
  }
}
