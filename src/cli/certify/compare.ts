/** Compares the tables of a report with the rows of the sandbox. */
import { isDeepStrictEqual } from 'node:util'
import { reportOf } from '../../../schema/index.ts'
import { snakeCase, tableOf, wireKey } from '../../../schema/tables.ts'
import { parseInstant } from '../../instant.ts'
import type { World, WorldReport } from '../../sandbox/server.ts'
import type { Warehouse } from '../../warehouse/warehouse.ts'

/** A row of the warehouse, with all values as text. Example of a time: `µs1700000000000000`. */
type Row = Readonly<Record<string, string | null>>
/** A value of the sandbox's JSON. A number is an object with its exact digits: 12.50 is `{ number: '125e-1' }`. */
type Json = null | boolean | string | readonly Json[] | JsonObject
type JsonObject = { readonly [field: string]: Json }

interface Comparison {
  readonly report: WorldReport
  readonly currency?: string | undefined
  /** Removes fields that privacy rules exclude from a row's JSON text. By default, removes none. */
  readonly keptOf?: (text: string) => string
}

/** Returns a sentence for each difference between the warehouse and the sandbox. */
export async function differences(
  warehouse: Warehouse,
  world: World,
  { report: name, currency, keptOf = (text) => text }: Comparison,
): Promise<string[]> {
  const report = reportOf(name)
  const table = tableOf(report)
  const keys = wireKey(report)
  const keyIn = (row: Row) => keys.map((field) => row[snakeCase(field)]).join('/')
  const rowsOf = async (name: string) => Map.groupBy(await heldRows(warehouse, name, currency), keyIn)
  const columns = await warehouse.rows<{ table: string; field: string; name: string }>(
    'SELECT table_name AS "table", field, column_name AS name FROM tidemark.columns',
  )
  const columnOf = (of: string, field: string) =>
    columns.find((each) => each.table === of && each.field === field)?.name
  const held = await rowsOf(name)
  const collections = await Promise.all(
    table.children.map(async (child) => [child.field, { name: child.name, rows: await rowsOf(child.name) }] as const),
  )
  const children = new Map(collections)
  const live = new Set(world.liveKeys(name))
  const found = world.keys(name).flatMap((number) => {
    const text = world.rowText(name, number, currency === undefined ? {} : { currency: currency as 'EUR' })
    if (text === undefined) return []
    const plain = JSON.parse(text) as Readonly<Record<string, string | number>>
    const key = keys.map((field) => plain[field]).join('/')
    const [row, ...others] = held.get(key) ?? []
    held.delete(key)
    if (row === undefined) return [`the row ${key} is missing`]
    const wrong = others.length > 0 ? [`the row ${key} is there ${others.length + 1} times`] : []
    if ((row['is_deleted'] === 'true') === live.has(number))
      wrong.push(`is_deleted of the row ${key} is ${row['is_deleted']}`)
    for (const [field, value] of Object.entries(parseExactly(keptOf(text)) as JsonObject)) {
      const child = children.get(field)
      const documented = table.fields.find(({ sources }) => sources.includes(field))?.name
      const isRight = child
        ? hasItems(value, child.rows.get(key) ?? [], (each) => columnOf(child.name, each))
        : field === report.deletedFlag || isHeld(value, field, { row, column: documented ?? columnOf(name, field) })
      if (!isRight) wrong.push(`${field} of the row ${key} differs`)
    }
    return wrong
  })
  const extra = [...held].filter(([, rows]) => rows.some((row) => row['is_deleted'] !== 'true'))
  return [...found, ...extra.map(([key]) => `the row ${key} is not deleted, but the service does not have it`)]
}

async function heldRows(warehouse: Warehouse, table: string, currency: string | undefined): Promise<Row[]> {
  const columns = await warehouse.rows<{ name: string; type: string }>(
    `SELECT name, type FROM pragma_table_info('main."${table}"')`,
  )
  const texts = columns.map(({ name, type }) => {
    const text = type === 'TIMESTAMP WITH TIME ZONE' ? `'µs' || epoch_us("${name}")` : `"${name}"::VARCHAR`
    return `${text} AS "${name}"`
  })
  const where = currency === undefined ? '' : ` WHERE target_currency = '${currency}'`
  return warehouse.rows<Row>(`SELECT ${texts.join(', ')} FROM main."${table}"${where}`)
}

/** Returns whether a value is in the row: in its column or, if the column cannot store it, in `_extra`. */
function isHeld(sent: Json, field: string, at: { readonly row: Row; readonly column: string | undefined }): boolean {
  const held = at.row[at.column ?? ''] ?? null
  const extra = parseExactly(at.row['_extra'] ?? '{}') as JsonObject
  return isSame(sent, held) || (held === null && field in extra && isDeepStrictEqual(extra[field], sent))
}

function isSame(sent: Json, held: string | null): boolean {
  if (sent === null || held === null) return sent === held
  if (typeof sent === 'object')
    return 'number' in sent ? canonical(held) === sent.number : isDeepStrictEqual(parseExactly(held), sent)
  if (held.startsWith('µs')) return held === `µs${parseInstant(`${sent}`)}`
  return String(sent) === held || (held.startsWith('"') && parseExactly(held) === sent)
}

function hasItems(sent: Json, rows: readonly Row[], columnOf: (field: string) => string | undefined): boolean {
  const items = (sent === null ? [] : [sent].flat()) as readonly JsonObject[]
  const live = rows
    .filter((row) => row['is_deleted'] !== 'true' || row['_delete_evidence'] === 'flag')
    .toSorted((a, b) => Number(a['_position']) - Number(b['_position']))
  const isRight = (item: JsonObject, row: Row) =>
    isDeepStrictEqual(parseExactly(row['_payload'] ?? 'null'), item) &&
    Object.entries(item).every(([field, value]) => {
      const column = field === 'isDeleted' ? 'is_deleted' : columnOf(field)
      return column === undefined ? value === null : isSame(value, row[column] ?? null)
    })
  return items.length === live.length && live.every((row, at) => isRight(items[at] as JsonObject, row))
}

const parseExactly = (text: string): Json =>
  JSON.parse(text, (_, value: unknown, { source = '' }: { readonly source?: string } = {}) =>
    typeof value === 'number' ? { number: canonical(source) } : value,
  ) as Json

/** Returns one form for all texts of a number: `125e-1` for 12.50 and 12.5, and `1e3` for 1000. */
export function canonical(text: string): string {
  const [, sign = '', whole = '', fraction = '', power = '0'] = /^(-?)(\d+)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/.exec(
    text,
  ) ?? ['', '', `no number: ${text}`]
  const digits = (whole + fraction).replace(/^0+/, '')
  const short = digits.replace(/0+$/, '')
  return short === '' ? '0' : `${sign}${short}e${Number(power) - fraction.length + digits.length - short.length}`
}
