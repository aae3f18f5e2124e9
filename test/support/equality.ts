/**
 * Compares the warehouse with the service, value by value and to the last digit, and lists every difference. The
 * service's response is JSON text, so that numbers are compared as written and not as doubles.
 */
import { reportOf } from '../../schema/index.ts'
import { documentedFields, snakeCase, tableOf, wireKey } from '../../schema/tables.ts'
import { parseInstant } from '../../src/instant.ts'
import type { World, WorldReport } from '../../src/sandbox/server.ts'
import type { Warehouse } from '../../src/warehouse/warehouse.ts'
import { canonical } from './numbers.ts'

/** A number as the service wrote it. */
class Digits {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

type Json = null | boolean | string | Digits | Json[] | { [name: string]: Json }

const parse = (text: string): Json =>
  JSON.parse(text, (_, value: unknown, context?: { source?: string }) =>
    typeof value === 'number' ? new Digits(context?.source ?? String(value)) : value,
  ) as Json

type Row = Record<string, string | null>

export interface Compared {
  readonly report: WorldReport
  readonly currency?: 'EUR' | 'USD'
  /** Converts the service's rows to what may be stored of them under privacy rules. */
  readonly keptOf?: (text: string) => string
}

/** Returns every difference between the report's tables and the service's present response. */
export async function differences(
  warehouse: Warehouse,
  world: World,
  { report, currency, keptOf = (text) => text }: Compared,
): Promise<string[]> {
  const declaration = reportOf(report)
  const table = tableOf(declaration)
  const keyField = wireKey(declaration)[0] ?? ''
  const held = await rowsOf(warehouse, table.name, currency)
  const byKey = new Map(held.map((row) => [row[snakeCase(keyField)], row]))
  const columns = await columnsOf(warehouse)
  const found: string[] = []
  const live = new Set(world.liveKeys(report))
  const children = new Map<string, Map<string, Row[]>>()
  for (const child of table.children) {
    children.set(child.field, groupBy(await rowsOf(warehouse, child.name, currency), snakeCase(keyField)))
  }
  for (const key of world.keys(report)) {
    const text = world.rowText(report, key, currency === undefined ? {} : { currency })
    const row = byKey.get(String(key))
    byKey.delete(String(key))
    if (text === undefined) continue
    if (row === undefined) {
      found.push(`${report} ${key} is missing`)
      continue
    }
    const sent = parse(keptOf(text)) as { [name: string]: Json }
    if ((row['is_deleted'] === 'true') === live.has(key))
      found.push(`${report} ${key}: is_deleted is ${row['is_deleted']}`)
    for (const [field, value] of Object.entries(sent)) {
      const child = table.children.find((each) => each.field === field)
      const place = `${report} ${key} ${field}`
      if (child !== undefined) {
        const rows = children.get(field)?.get(String(key)) ?? []
        found.push(...childDifferences(place, value, { rows, columns: columns.get(child.name) ?? new Map() }))
      } else if (field !== declaration.deletedFlag) {
        const documented = documentedFields(declaration).has(field)
        const column = documented ? snakeCase(field) : columns.get(table.name)?.get(field)
        const same = column === undefined ? false : sameValue(value, row[column] ?? null)
        if (!same && !inExtra(value, field, row))
          found.push(`${place}: sent ${show(value)}, held ${row[column ?? ''] ?? null}`)
      }
    }
  }
  for (const [key, row] of byKey) {
    if (row['is_deleted'] !== 'true') found.push(`${report} ${key} is held but was never sent`)
  }
  return found
}

function childDifferences(
  place: string,
  sent: Json,
  held: { rows: Row[]; columns: ReadonlyMap<string, string> },
): string[] {
  const elements = sent === null ? [] : Array.isArray(sent) ? sent : [sent]
  const live = held.rows
    .filter((row) => row['is_deleted'] !== 'true' || row['_delete_evidence'] === 'flag')
    .toSorted((a, b) => Number(a['_position']) - Number(b['_position']))
  if (live.length !== elements.length) return [`${place}: ${elements.length} children sent, ${live.length} held`]
  return elements.flatMap((element, position) => {
    const row = live[position] as Row
    const found = sameJson(element, parse(row['_payload'] ?? 'null'))
      ? []
      : [`${place}[${position}]: payload ${row['_payload']}`]
    for (const [field, value] of Object.entries(element as { [name: string]: Json })) {
      if (field === 'isDeleted') {
        if (show(value) !== row['is_deleted']) found.push(`${place}[${position}]: is_deleted is ${row['is_deleted']}`)
        continue
      }
      const column = held.columns.get(field)
      if (column === undefined && value !== null) found.push(`${place}[${position}].${field} has no column`)
      else if (column !== undefined && !sameValue(value, row[column] ?? null)) {
        found.push(`${place}[${position}].${field}: sent ${show(value)}, held ${row[column]}`)
      }
    }
    return found
  })
}

/** Returns all values as text: numbers exactly, times in microseconds. */
async function rowsOf(warehouse: Warehouse, table: string, currency: string | undefined): Promise<Row[]> {
  const columns = await warehouse.rows<{ name: string; type: string }>(
    `SELECT column_name AS name, data_type AS type FROM duckdb_columns() WHERE schema_name = 'main' AND table_name = '${table}' AND database_name = current_database()`,
  )
  const asText = columns.map(({ name, type }) =>
    type === 'TIMESTAMP WITH TIME ZONE'
      ? `'µs' || epoch_us("${name}") AS "${name}"`
      : `"${name}"::VARCHAR AS "${name}"`,
  )
  const where = currency === undefined ? '' : ` WHERE target_currency = '${currency}'`
  return warehouse.rows<Row>(`SELECT ${asText.join(', ')} FROM main."${table}"${where}`)
}

/** Table → undocumented field → column. */
async function columnsOf(warehouse: Warehouse): Promise<Map<string, Map<string, string>>> {
  const rows = await warehouse.rows<{ t: string; f: string; c: string }>(
    'SELECT table_name AS t, field AS f, column_name AS c FROM tidemark.columns',
  )
  const byTable = new Map<string, Map<string, string>>()
  for (const { t, f, c } of rows) byTable.set(t, (byTable.get(t) ?? new Map<string, string>()).set(f, c))
  return byTable
}

function sameValue(sent: Json, held: string | null): boolean {
  if (sent === null || held === null) return sent === held
  if (held.startsWith('µs')) return typeof sent === 'string' && `µs${parseInstant(sent)}` === held
  if (sent instanceof Digits) return sameNumber(sent.text, held)
  if (typeof sent === 'object') return sameJson(sent, parse(held))
  return String(sent) === held || (held.startsWith('"') && sameJson(sent, parse(held)))
}

function inExtra(value: Json, field: string, row: Row): boolean {
  const extra = parse(row['_extra'] ?? '{}') as { [name: string]: Json }
  return value === null || (field in extra && sameJson(value, extra[field] ?? null))
}

function sameJson(a: Json, b: Json): boolean {
  if (a instanceof Digits || b instanceof Digits) {
    return a instanceof Digits && b instanceof Digits && sameNumber(a.text, b.text)
  }
  if (a === null || b === null || typeof a !== 'object' || typeof b !== 'object') return a === b
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b)) return false
    return a.length === b.length && a.every((each, n) => sameJson(each, b[n] ?? null))
  }
  const names = Object.keys(a)
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => name in b && sameJson(a[name] ?? null, b[name] ?? null))
  )
}

/** Returns whether two numbers are equal: 12.50 is 12.5, 1e3 is 1000. */
const sameNumber = (a: string, b: string): boolean => canonical(a) === canonical(b)

function groupBy(rows: readonly Row[], column: string): Map<string, Row[]> {
  const groups = new Map<string, Row[]>()
  for (const row of rows) {
    const key = row[column] ?? ''
    groups.set(key, [...(groups.get(key) ?? []), row])
  }
  return groups
}

const show = (value: Json): string =>
  JSON.stringify(value, (_, each: unknown) => (each instanceof Digits ? each.text : each))
