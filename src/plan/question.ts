/**
 * From a declaration and what is wanted to a request: path and body as the specification has them (spec §4). Every
 * parameter that is sent comes from the declaration; nothing is sent that the specification doesn't name.
 */
import type { Declaration } from '../../schema/report.ts'
import { formatInstant, type Instant } from '../instant.ts'

/** Parameters of one record. A record's identifier stands in its digits: beyond 2^53 a number would name another one. */
export type AskedAbout = Readonly<Record<string, number | string>>

export interface Bounds {
  readonly since: Instant | undefined
  readonly until: Instant | undefined
}

export interface Question {
  /** Bounds on the report's window parameters. */
  readonly window?: Bounds
  /** Bounds on the created filters instead. */
  readonly created?: Bounds
  readonly expand: readonly string[]
  readonly filters: Readonly<Record<string, unknown>>
  /** The currency, for reports that are asked in one. */
  readonly currency?: string | undefined
  /** What is asked about: `entityId` and `entityRecordId`, or `enquiryId` (which stands in the path). */
  readonly record?: AskedAbout
  /** Overrides what the report always sends, for the second read of a difference. */
  readonly also?: Readonly<Record<string, unknown>>
}

/** The request's path below `/reportingapi`, with the record that is asked about where it stands in the path. */
export function pathOf(report: Declaration, question: Question): string {
  return report.path.replace(/\{(\w+)\}/g, (_, parameter: string) => String(question.record?.[parameter] ?? ''))
}

/** The body of one page's request. `pageSize` in rows. */
export function bodyOf(
  report: Declaration,
  question: Question,
  page: { number: number; size: number },
): Record<string, unknown> {
  const inPath = new Set([...report.path.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => parameter))
  const record = Object.entries(question.record ?? {})
    .filter(([parameter]) => !inPath.has(parameter))
    .map(([parameter, value]) => [parameter, exactNumber(value)])
  const expand = Object.fromEntries(question.expand.map((flag) => [flag, true]))
  return {
    ...question.filters,
    ...report.always,
    ...question.also,
    ...Object.fromEntries(record),
    ...(report.currency === undefined || question.currency === undefined
      ? {}
      : { [report.currency]: question.currency }),
    ...boundsOf(report.window, question.window),
    ...(report.created === undefined ? {} : boundsOf(report.created, question.created)),
    pageNumber: page.number,
    pageSize: page.size,
    ...(question.expand.length === 0 ? {} : { expand }),
  }
}

/** Node has it; the types don't know yet. */
const exact = JSON as JSON & { rawJSON(text: string): unknown }

const exactNumber = (value: number | string): unknown =>
  Number.isSafeInteger(Number(value)) ? Number(value) : exact.rawJSON(String(value))

function boundsOf(names: { since: string; until: string }, bounds: Bounds | undefined): Record<string, string> {
  return {
    ...(bounds?.since === undefined ? {} : { [names.since]: formatInstant(bounds.since) }),
    ...(bounds?.until === undefined ? {} : { [names.until]: formatInstant(bounds.until) }),
  }
}
