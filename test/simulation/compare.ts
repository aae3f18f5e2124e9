/** At quiet: every table of the warehouse against the model, value by value, to the last digit. */
import { type AuditEntry, type Micros, type ModelRecord, newestOf } from './model/record.ts'
import { comesAsSummary } from './model/pages.ts'
import { asSent, type Cell, childText, ROWS } from './model/rows.ts'
import type { World } from './model/world.ts'
import { type Asking, asks, type Recorded, type Scenario } from './scenario.ts'

type Rows = <T>(sql: string) => Promise<T[]>
type Row = Readonly<Record<string, string | null>>

export interface Comparison {
  readonly world: World
  readonly scenario: Scenario
  /** What the configuration asked for in the end: the rest is not kept up any more. */
  readonly asking: Asking
  /** What a backfill read again at quiet: amounts that drifted in it are known. */
  readonly backfilled: { readonly since: Micros; readonly until: Micros } | undefined
  /**
   * Whole reports were compared with the service: rows that it no longer returns, and drifted amounts, are known too.
   */
  readonly reconciled: boolean
  /** Counts tell of deleted enquiries. */
  readonly isCounted: boolean
}

export async function differences(rows: Rows, comparison: Comparison): Promise<string[]> {
  const found: string[] = []
  for (const report of comparison.world.recorded) {
    const scopes = report === 'budgets' ? comparison.asking.currencies : ['']
    for (const scope of scopes) found.push(...(await reportDifferences(rows, comparison, { report, scope })))
    found.push(...(await rejectedDifferences(rows, comparison, report)))
    found.push(...(await misfitDifferences(rows, comparison, report)))
  }
  if (comparison.scenario.reports.includes('enquiry_audit_entries')) {
    found.push(...(await entryDifferences(rows, comparison)))
  }
  return found
}

interface Place {
  readonly report: Recorded
  readonly scope: string
}

async function reportDifferences(rows: Rows, comparison: Comparison, { report, scope }: Place): Promise<string[]> {
  const { keyColumn, collections } = ROWS[report]
  const where = scope === '' ? '' : ` WHERE target_currency = '${scope}'`
  const held = await rows<Row>(`SELECT COLUMNS(*)::VARCHAR FROM main.${report}${where}`)
  const byKey = new Map(held.map((row) => [Number(row[keyColumn]), row]))
  const found: string[] = held.length === byKey.size ? [] : [`4: ${report} ${scope} holds keys twice`]
  const children = new Map<string, Row[]>()
  for (const { table } of collections) {
    const kids = await rows<Row>(`SELECT COLUMNS(*)::VARCHAR FROM main.${table}${where} ORDER BY _position`)
    for (const row of kids) {
      const place = `${table} ${row[keyColumn]}`
      children.set(place, [...(children.get(place) ?? []), row])
    }
  }
  for (const record of comparison.world.records[report].values()) {
    const row = byKey.get(record.key)
    byKey.delete(record.key)
    const place = `${report} ${scope} ${record.key}`
    found.push(...recordDifferences(comparison, { report, scope, place, record, row, children }))
  }
  for (const key of byKey.keys()) found.push(`1: ${report} ${scope} ${key} is in the table, and never existed`)
  return found
}

interface Meeting extends Place {
  readonly place: string
  readonly record: ModelRecord
  readonly row: Row | undefined
  readonly children: ReadonlyMap<string, readonly Row[]>
}

function recordDifferences(
  { reconciled, isCounted, asking, backfilled, scenario }: Comparison,
  { report, scope, place, record, row, children }: Meeting,
): string[] {
  const version = newestOf(record)
  // A row without its key is among the rejected rows; what it was before stays.
  if (version.broken === 'no key' || !asks(asking, report, { record, version })) return []
  const isGone = report === 'enquiries' && version.deleted
  if (isGone) {
    // Where a filter is set, what is gone can't be told from what it leaves out.
    const isTold = (reconciled || isCounted) && asking.companyId === undefined
    const isKnown = row === undefined || !isTold || row['is_deleted'] === 'true'
    return isKnown ? [] : [`5: ${place} is gone, and not marked as deleted`]
  }
  if (row === undefined) return [`1: ${place} is missing`]
  const summary = comesAsSummary(scenario, report, record)
  const stamp = version.stamp ?? 0
  const isReadAgain = reconciled || (backfilled !== undefined && backfilled.since <= stamp && stamp <= backfilled.until)
  const cells = ROWS[report]
    .cells(record, version, { currency: scope, summary })
    .map((cell) => asSent(report, version, cell))
  const found = cells.flatMap((cell) => {
    if (isDrifted(cell, record, isReadAgain) || sameValue(cell, row)) return []
    return [`1: ${place} ${cell.column}: ${show(cell.value)} was sent, ${show(row[cell.column])} is stored`]
  })
  if ((row['is_deleted'] === 'true') !== version.deleted) found.push(`5: ${place}: is_deleted is ${row['is_deleted']}`)
  for (const { table, of, flag } of ROWS[report].collections) {
    if (!asking.expand.has(flag) || summary) continue
    const kids = children.get(`${table} ${record.key}`) ?? []
    found.push(...childDifferences(`${place} ${table}`, of(version).map(childText), kids))
  }
  return found
}

const isDrifted = (cell: Cell, record: ModelRecord, isReadAgain: boolean): boolean =>
  cell.wire === 'totalAmount' && record.drift > 0 && !isReadAgain

function childDifferences(place: string, sent: readonly string[], held: readonly Row[]): string[] {
  const live = held.filter((row) => row['is_deleted'] !== 'true')
  if (live.length !== sent.length) return [`1: ${place}: ${sent.length} children were sent, ${live.length} are stored`]
  return sent.flatMap((text, position) => {
    const row = live[position] as Row
    const child = JSON.parse(text) as { id?: number; label: string; size: number }
    const isSame =
      row['_payload'] === text &&
      row['_position'] === String(position) &&
      row['_child_key'] === String(child.id ?? position) &&
      row['label'] === child.label &&
      sameNumber(String(child.size), row['size'])
    return isSame ? [] : [`1: ${place}[${position}]: ${text} was sent, ${JSON.stringify(row)} is stored`]
  })
}

/** Rows that can't be stored are kept whole, each once. */
async function rejectedDifferences(rows: Rows, { world, asking }: Comparison, report: Recorded): Promise<string[]> {
  const held = await rows<{ row: string; scope: string }>(
    `SELECT row::VARCHAR AS row, scope FROM tidemark.rejected_rows WHERE report = '${report}'`,
  )
  const texts = held.map(({ row, scope }) => `${scope} ${row}`)
  const found = texts.length === new Set(texts).size ? [] : [`4: a rejected row of ${report} is kept twice`]
  const revisions = new Set(held.map(({ row }) => Number(/"revision":(\d+)/.exec(row)?.[1])))
  for (const record of world.records[report].values()) {
    const version = newestOf(record)
    const { broken, revision, deleted } = version
    if (!asks(asking, report, { record, version })) continue
    if (broken === 'no key' && !(report === 'enquiries' && deleted) && !revisions.has(revision)) {
      found.push(`1: the broken row of ${report} ${record.key}, revision ${revision}, is not among the rejected rows`)
    }
  }
  return found
}

/** A value that its column does not take is listed while its row has it. */
async function misfitDifferences(
  rows: Rows,
  { world, asking, scenario }: Comparison,
  report: Recorded,
): Promise<string[]> {
  // Rows in a currency that is no longer asked for stay as they were, and so do their misfits.
  const scopes = report === 'budgets' ? asking.currencies : ['']
  const listed = await rows<{ key: string; value: string }>(
    `SELECT split_part(key, ':', 1) AS key, value::VARCHAR AS value FROM tidemark.misfits
    WHERE "table" = '${report}' AND split_part(key, ':', 2) IN (${scopes.map((scope) => `'${scope}'`).join(', ')})`,
  )
  return [...world.records[report].values()].flatMap((record) => {
    const version = newestOf(record)
    const isSkipped = version.broken === 'no key' || (report === 'enquiries' && version.deleted)
    if (isSkipped || !asks(asking, report, { record, version })) return []
    const own = listed.filter(({ key }) => key === String(record.key)).map(({ value }) => value)
    // The summary shape lacks the field.
    const isSent = version.broken === 'wrong type' && !comesAsSummary(scenario, report, record)
    const wanted = isSent ? `"odd ${version.revision}"` : undefined
    const isRight = wanted === undefined ? own.length === 0 : own.length > 0 && own.every((value) => value === wanted)
    return isRight ? [] : [`1: the misfits of ${report} ${record.key} are ${own.join(', ')}, not ${wanted ?? 'none'}`]
  })
}

async function entryDifferences(rows: Rows, { world, asking }: Comparison): Promise<string[]> {
  const held = await rows<{ enquiry: number; entry: string; number: number }>(`
    SELECT enquiry_id AS enquiry, concat_ws(' ', epoch_us(timestamp), user_id, action, payload) AS entry, entry_number AS number
    FROM main.enquiry_audit_entries WHERE epoch_us(timestamp) >= ${asking.start}`)
  const found: string[] = []
  for (const record of world.records.enquiries.values()) {
    const version = newestOf(record)
    const { deleted, broken } = version
    if (!asks(asking, 'enquiries', { record, version })) continue
    // The trail of a row that is gone, or was never stored, is not asked for any more.
    if (deleted || broken !== undefined || record.versions.some((version) => version.broken !== undefined)) continue
    const mine = held.filter(({ enquiry }) => enquiry === record.key)
    const sent = record.entries
      .filter(({ at }) => at >= asking.start)
      .map(entryOf)
      .toSorted((a, b) => a.localeCompare(b))
    const kept = mine.map(({ entry }) => entry).toSorted((a, b) => a.localeCompare(b))
    if (sent.join('\n') !== kept.join('\n')) {
      found.push(`1: trail of enquiry ${record.key}: sent ${sent.join(', ')}; held ${kept.join(', ')}`)
    }
    if (new Set(mine.map(({ number }) => number)).size !== mine.length)
      found.push(`4: entry numbers of ${record.key} are not unique`)
  }
  return found
}

const entryOf = ({ at, userId, action }: AuditEntry): string => `${at} ${userId} ${action} {"by":${userId}}`

function sameValue({ column, wire, kind, value }: Cell, row: Row): boolean {
  const held = extraOf(row, wire) ?? row[column] ?? null
  if (value === null || held === null) return value === held
  if (kind === 'number') return sameNumber(value, held)
  return kind === 'time' ? microsOf(held) === Number(value) : value === held
}

/** Returns the value in `_extra`: it has no column, or its column can't store it exactly. */
function extraOf(row: Row, wire: string): string | null {
  const found = new RegExp(`"${wire}":(-?[0-9.eE+-]+|"(?:[^"\\\\]|\\\\.)*")`).exec(row['_extra'] ?? '')?.[1]
  return found === undefined ? null : found.startsWith('"') ? (JSON.parse(found) as string) : found
}

/** DuckDB's text of a TIMESTAMPTZ in UTC: `2026-01-01 00:00:00.5+00`. */
function microsOf(text: string): number {
  const [, day, clock, fraction = ''] = /^(\S+) (\d\d:\d\d:\d\d)(?:\.(\d+))?\+00$/.exec(text) ?? []
  return Date.parse(`${day}T${clock}Z`) * 1_000 + Number(fraction.padEnd(6, '0'))
}

const sameNumber = (a: string, b: string | null | undefined): boolean =>
  b !== null && b !== undefined && canonical(a) === canonical(b)

/** Digits without outer zeros, and where the point stands. */
function canonical(text: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:e([-+]?\d+))?$/.exec(
    text,
  ) ?? [text, text]
  const digits = `${whole}${fraction}`.replace(/^0+/, '')
  const short = digits.replace(/0+$/, '')
  return short === '' ? '0' : `${sign}${short}e${Number(exponent) - fraction.length + digits.length - short.length}`
}

const show = (value: string | null | undefined): string => (value === undefined ? 'no column' : JSON.stringify(value))
