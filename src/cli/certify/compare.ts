/** Compares the tables of a report with the rows of the sandbox, value by value. */
import { reportOf } from '../../../schema/index.ts'
import type { Declaration } from '../../../schema/report.ts'
import { snakeCase, tableOf, wireKey } from '../../../schema/tables.ts'
import { attempt } from '../../errors.ts'
import { parseInstant } from '../../instant.ts'
import type { World } from '../../sandbox/server.ts'
import type { SyncContext } from '../../sync/context.ts'
import { scopesOf } from '../../sync/context.ts'
import type { Warehouse } from '../../warehouse/warehouse.ts'

type Sent = Readonly<Record<string, unknown>>
type Held = Readonly<Record<string, string | null>>

/** What is compared: one report, and one currency if the report has currencies. */
interface Subject {
  readonly warehouse: Warehouse
  readonly world: World
  readonly report: Declaration
  readonly scope: string
}

/** Returns all differences between the warehouse and what the sandbox would send now. */
export async function differencesOf(
  { warehouse, settings }: SyncContext,
  world: World,
  name: Parameters<World['keys']>[0],
): Promise<string[]> {
  const report = reportOf(name)
  const found: string[] = []
  for (const scope of scopesOf(settings, report))
    found.push(...(await differencesIn({ warehouse, world, report, scope })))
  return found
}

async function differencesIn({ warehouse, world, report, scope }: Subject): Promise<string[]> {
  const name = report.name as Parameters<World['keys']>[0]
  const keys = wireKey(report)
  const columns = keys.map(snakeCase)
  const keyIn = (row: Held) => columns.map((column) => row[column]).join('/')
  const held = Map.groupBy(await heldRows(warehouse, report.name, scope), keyIn)
  const children = new Map<string, Map<string, Held[]>>()
  for (const child of tableOf(report).children)
    children.set(child.field, Map.groupBy(await heldRows(warehouse, child.name, scope), keyIn))
  const added = await warehouse.rows<{ field: string; name: string }>(
    `SELECT field, column_name AS name FROM tidemark.columns WHERE table_name = '${report.name}'`,
  )
  const columnOf = (field: string) => added.find((each) => each.field === field)?.name ?? snakeCase(field)
  const live = new Set(world.liveKeys(name))
  const found = world.keys(name).flatMap((number) => {
    const sent = world.row(name, number, scope === '' ? {} : { currency: scope as 'EUR' })
    if (sent === undefined) return []
    const key = keys.map((field) => textOf(sent[field])).join('/')
    const [row, ...others] = held.get(key) ?? []
    held.delete(key)
    if (row === undefined) return [`the row ${key} is missing`]
    const doubled = others.length > 0 ? [`the row ${key} is there ${others.length + 1} times`] : []
    const isRight = (row['is_deleted'] === 'true') !== live.has(number)
    const differing = Object.entries(sent).filter(([field, value]) => {
      if (field === report.deletedFlag) return false
      const items = children.get(field)
      return items === undefined ? !isHeld(value, field, { row, columnOf }) : !hasItems(value, items.get(key) ?? [])
    })
    const wrong = differing.map(([field]) => `${field} of the row ${key} differs`)
    return [...doubled, ...(isRight ? [] : [`is_deleted of the row ${key} is ${row['is_deleted']}`]), ...wrong]
  })
  const extra = [...held].filter(([, rows]) => rows.some((row) => row['is_deleted'] !== 'true'))
  return [...found, ...extra.map(([key]) => `the row ${key} is not deleted, but the service does not have it`)]
}

/** Returns all values as text, and times in microseconds. */
async function heldRows(warehouse: Warehouse, table: string, scope: string): Promise<Held[]> {
  const columns = await warehouse.rows<{ name: string; type: string }>(
    `SELECT column_name AS name, data_type AS type FROM duckdb_columns()
     WHERE database_name = current_database() AND schema_name = 'main' AND table_name = '${table}'`,
  )
  const texts = columns.map(({ name, type }) =>
    type === 'TIMESTAMP WITH TIME ZONE'
      ? `epoch_us("${name}")::VARCHAR AS "${name}"`
      : `"${name}"::VARCHAR AS "${name}"`,
  )
  const where = scope === '' ? '' : ` WHERE target_currency = '${scope}'`
  return warehouse.rows<Held>(`SELECT ${texts.join(', ')} FROM main."${table}"${where}`)
}

function isHeld(
  sent: unknown,
  field: string,
  { row, columnOf }: { readonly row: Held; readonly columnOf: (field: string) => string },
): boolean {
  const held = row[columnOf(field)] ?? null
  if (held !== null && sent !== null) return isSame(sent, held)
  const extra = JSON.parse(row['_extra'] ?? '{}') as Sent
  return sent === held || JSON.stringify(extra[field]) === JSON.stringify(sent)
}

function isSame(sent: unknown, held: string): boolean {
  if (typeof sent === 'number') return Number(held) === sent
  if (typeof sent === 'string' && String(parseInstant(sent)) === held) return true
  return held === textOf(sent) || attempt(() => textOf(JSON.parse(held)), undefined) === textOf(sent)
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

function hasItems(sent: unknown, rows: readonly Held[]): boolean {
  const items = sent === null || sent === undefined ? [] : [sent].flat()
  const live = rows
    .filter((row) => row['is_deleted'] !== 'true' || row['_delete_evidence'] === 'flag')
    .toSorted((a, b) => Number(a['_position']) - Number(b['_position']))
  return items.length === live.length && items.every((item, at) => isSame(item, live[at]?.['_payload'] ?? ''))
}
