/** Faults on request. Example: `5xx*3@events` makes three requests for events fail. */
import { usageError } from '../errors.ts'
import { REPORTS, type ReportName } from './reports/index.ts'

/** The description and the default argument of each fault. */
const RULES = {
  drift: ['after every page of several, :N changes of the report follow, so that rows move between pages', 3],
  unordered: ['rows are in another order at every request'],
  clamp: ['pageSize is cut to :N, and the answer shows it', 50],
  raise: ['pageSize is raised to :N, but the answer shows the requested size', 1_000],
  'clamp-silent': ['pageSize is cut to :N, but the answer shows the requested size', 50],
  'ignore-page': ['every pageNumber returns the first page; with :echo the answer shows the requested number', 'first'],
  'from-zero': ['pages are numbered from 0; with beyond a number after the last page is refused, even page 1'],
  'short-page': ['the second page has half as many rows as the others, although more pages follow'],
  beyond: ['a page after the last page, or one that reaches beyond cap, is refused with the status :N', 400],
  cap: ['pages contain only the first :N rows; further pages are empty, or refused with beyond', 10_000],
  'total-lies': ['totalCount is off by :N', 1],
  '429': ['too many requests, with Retry-After :N seconds', 1],
  '5xx': ['requests fail with the status :N', 503],
  reset: ['the connection is destroyed in the middle of the body'],
  truncate: ['the JSON is cut, with a content-length that fits the cut'],
  slow: ['the answer is delayed by :N ms', 500],
  drip: ['one byte of the body is sent every :N ms', 200],
  silent: ['headers are sent, but no body'],
  skew: ["the service's clock is off by :N seconds, in the Date header and in new stamps", 3_600],
  'stamps-back': ['edits have a stamp :N seconds in the past; for an event only the aggregate stamp is wrong', 86_400],
  'no-date': ['no Date header'],
  html: ['200 with an HTML page'],
  'empty-body': ['200 with no body'],
  redirect: ['302 to :URL', 'http://elsewhere.example/reportingapi'],
  huge: ['the body is padded to :N MB', 64],
  '401-once': ['one report request is answered with 401, later ones are not'],
  '401-always': ['every request is answered with 401'],
  '403': ['every request is answered with 403'],
  'record-403': ['requests for the audit trail of the record :N are answered with 403', 20_001],
  'record-404': ['requests for the audit trail of the record :N are answered with 404', 20_001],
  expire: ['a token expires after :N report requests', 3],
  'duplicate-row': ['each page contains its first row twice'],
  'bad-rows': ['every :Nth row is malformed: wrong types, missing or doubled keys, odd characters', 7],
  fx: ['the rate table number :N changes converted amounts without any edit', 1],
} as const satisfies Record<string, readonly [does: string, argument?: number | string]>

export type FaultName = keyof typeof RULES

export const faultNames = Object.entries(RULES).map(([name, [does, argument]]) => ({
  name: name as FaultName,
  does,
  argument: argument === undefined ? undefined : String(argument),
}))

export type FaultPlace = ReportName | 'token'

type Fault = ReturnType<typeof parseFault>

const FAULT_TEXT = /^(?<name>[a-z0-9-]+)(?:\*(?<count>\d+))?(?:@(?<place>[a-z_]+))?(?::(?<argument>.+))?$/

export function parseFault(text: string) {
  const groups = FAULT_TEXT.exec(text.trim())?.groups ?? {}
  const { name = '', count, place, argument } = groups
  if (!Object.hasOwn(RULES, name))
    throw usageError(`unknown fault '${text}'`, `Faults are: ${Object.keys(RULES).join(', ')}.`)
  const [does, usual]: readonly [does: string, argument?: number | string] = RULES[name as FaultName]
  if (place !== undefined && place !== 'token' && !REPORTS.includes(place)) {
    const cure = `Write @token or one of: ${REPORTS.join(', ')}.`
    throw usageError(`fault '${text}' names the unknown report '${place}'`, cure)
  }
  const fits = typeof usual === 'string' || (typeof usual === 'number' && Number.isFinite(Number(argument)))
  if (argument !== undefined && !fits) {
    throw usageError(`fault '${text}' has an argument that does not fit`, `${name}: ${does}.`)
  }
  return {
    name: name as FaultName,
    text,
    place: place as FaultPlace | undefined,
    argument: argument ?? String(usual ?? ''),
    left: count === undefined ? (name === '401-once' ? 1 : Number.POSITIVE_INFINITY) : Number(count),
  }
}

export class Faults {
  #active: Fault[] = []
  /** How often faults were used. With this number, the fault `unordered` orders each response differently. */
  uses = 0

  constructor(texts: readonly string[]) {
    this.set(texts)
  }

  set(texts: readonly string[]): void {
    this.#active = texts.map(parseFault)
  }

  list(): string[] {
    return this.#active.filter((fault) => fault.left > 0).map((fault) => fault.text)
  }

  /** Uses up one repetition of a fault. Returns the fault's argument, or undefined if the fault does not apply. */
  take(name: FaultName, place: FaultPlace): string | undefined {
    const fault = this.#find(name, place)
    if (fault === undefined) return undefined
    fault.left -= 1
    this.uses += 1
    return fault.argument
  }

  takeNumber(name: FaultName, place: FaultPlace): number | undefined {
    const argument = this.take(name, place)
    return argument === undefined ? undefined : Number(argument)
  }

  /** Returns what the first fault that applies makes the service answer. */
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

  /** A fault without a place applies to all reports, but not to token requests. */
  #find(name: FaultName, place: FaultPlace | undefined): Fault | undefined {
    return this.#active.find(
      (fault) =>
        fault.name === name &&
        fault.left > 0 &&
        (place === undefined || fault.place === place || (fault.place === undefined && place !== 'token')),
    )
  }
}
