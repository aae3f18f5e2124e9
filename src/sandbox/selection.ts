/** Selects the rows of a request by the window, the deletion flag, and the other filters (spec §4). */
import type { Row, Table } from './table.ts'
import { parseTicks } from './ticks.ts'
import type { Value } from './validate.ts'

type Test = (row: Row) => boolean
type Values = ReadonlyMap<string, Value>

const NO_FILTER = new Set(['pageNumber', 'pageSize', 'targetCurrencyCode', 'currencyCode', 'includeDeleted'])

export function select(table: Table, values: Values): readonly Row[] {
  const withDeleted = values.get('includeDeleted') === true
  const tests = [windowTest(values), ...[...values].map(([name, wanted]) => filterTest(table, name, wanted))]
  const wanted = tests.filter((test) => test !== undefined)
  return table.rows.filter((row) => (withDeleted || !row.deleted) && wanted.every((test) => test(row)))
}

/** A row matches if `modified` or `aggregate` is within the window (spec §4). Without a window, there is no test. */
function windowTest(values: Values): Test | undefined {
  const [since, until] = [values.get('modifiedSince'), values.get('modifiedUntil')]
  if (since === undefined && until === undefined) return undefined
  const [from, to] = [Number(since ?? -Number.MAX_VALUE), Number(until ?? Number.MAX_VALUE)]
  return ({ modified, aggregate }) => [modified, aggregate].some((at) => at >= from && at <= to)
}

function filterTest(table: Table, name: string, wanted: Value): Test | undefined {
  const { key, comparesWith = {} } = table.definition
  const field = comparesWith[name] ?? name
  if (NO_FILTER.has(name) || name.startsWith('modified')) return undefined
  switch (name) {
    case key:
      return (row) => row.key === wanted || (typeof wanted === 'bigint' && row.value(key) === wanted)
    case 'createdSince':
      return ({ created }) => created >= Number(wanted)
    case 'createdUntil':
      return ({ created }) => created <= Number(wanted)
    case 'startDate':
      return (row) => ticksOfField(row, field) >= Number(wanted)
    case 'endDate':
      return (row) => ticksOfField(row, field) <= Number(wanted)
    case 'onlyDefaultBudget':
      return wanted === true ? (row) => row.value(field) === true : undefined
    default:
      return (row) => matchesFilter(row.value(field), wanted)
  }
}

const ticksOfField = (row: Row, field: string): number => parseTicks(String(row.value(field))) ?? Number.NaN

function matchesFilter(value: unknown, wanted: Value): boolean {
  if (Array.isArray(wanted)) return wanted.includes(value)
  if (typeof wanted !== 'string') return value === wanted
  return typeof value === 'string' && value.toLowerCase() === wanted.toLowerCase()
}
