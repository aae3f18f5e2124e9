/** Builds the path and the body of a request (spec §4). Includes only parameters from the report's declaration. */
import type { Declaration } from '../../schema/report.ts'
import { formatInstant, type Instant } from '../instant.ts'

/** Identifiers above 2^53 are text, because a number would be rounded. */
export type RecordParameters = Readonly<Record<string, number | string>>

export interface Bounds {
  readonly since: Instant | undefined
  readonly until: Instant | undefined
}

export interface Question {
  readonly window?: Bounds
  /** Bounds on the creation time, sent instead of `window`. */
  readonly created?: Bounds
  readonly expand: readonly string[]
  readonly filters: Readonly<Record<string, unknown>>
  readonly currency?: string | undefined
  /** Example: `{ entityId: 3, entityRecordId: 17 }`, or `{ enquiryId: 17 }`. */
  readonly record?: RecordParameters
  readonly includeDeleted?: boolean | undefined
}

export function pathOf(report: Declaration, question: Question): string {
  return report.path.replace(/\{(\w+)\}/g, (_, parameter: string) => String(question.record?.[parameter] ?? ''))
}

export function bodyOf(report: Declaration, question: Question, page: { number: number; size: number }) {
  const inPath = new Set([...report.path.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => parameter))
  const record = Object.entries(question.record ?? {})
    .filter(([parameter]) => !inPath.has(parameter))
    .map(([parameter, value]) => [parameter, exactNumber(value)])
  const expand = Object.fromEntries(question.expand.map((flag) => [flag, true]))
  return {
    ...filtersOf(report, question),
    ...parameterOf(report.includeDeleted, question.includeDeleted),
    ...Object.fromEntries(record),
    ...parameterOf(report.currency, question.currency),
    ...boundsOf(report.window, question.window),
    ...(report.created === undefined ? {} : boundsOf(report.created, question.created)),
    [report.pages.number]: page.number,
    [report.pages.size]: page.size,
    ...(question.expand.length === 0 ? {} : { expand }),
  }
}

const parameterOf = (parameter: string | undefined, value: unknown): Record<string, unknown> =>
  parameter === undefined || value === undefined ? {} : { [parameter]: value }

/** Adds the type of `JSON.rawJSON`, which Node has but TypeScript does not declare. */
const JSON_WITH_RAW = JSON as JSON & { rawJSON(text: string): unknown }

/** Returns the configured filters. Integers above 2^53 are configured as text, and are sent without quotes. */
const filtersOf = (report: Declaration, { filters }: Question): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(filters).map(([name, value]) => {
      if (report.filters[name]?.startsWith('integer') !== true) return [name, value]
      return [name, Array.isArray(value) ? value.map(exactNumber) : exactNumber(value as number | string)]
    }),
  )

const exactNumber = (value: number | string): unknown =>
  Number.isSafeInteger(Number(value)) ? Number(value) : JSON_WITH_RAW.rawJSON(String(value))

function boundsOf(names: { since: string; until: string }, bounds: Bounds | undefined): Record<string, string> {
  return {
    ...(bounds?.since === undefined ? {} : { [names.since]: formatInstant(bounds.since) }),
    ...(bounds?.until === undefined ? {} : { [names.until]: formatInstant(bounds.until) }),
  }
}
