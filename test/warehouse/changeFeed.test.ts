/** The change feed: what differs between two exports, and which cursors it refuses. */
import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { type ReportName, reportOf } from '../../schema/index.ts'
import { formatInstant, type Instant, plusMs } from '../../src/instant.ts'
import { privacyText } from '../../src/plan/privacy.ts'
import { checkCursor, feedTablesOf } from '../../src/warehouse/books/changeFeed.ts'
import { type Cursor, currentCursor } from '../../src/warehouse/books/cursor.ts'
import { Database } from '../../src/warehouse/database/duckdb.ts'
import { exportTo } from '../../src/warehouse/publish/export.ts'
import { documents } from '../rules/markdown.ts'
import { aWarehouse, loadRows, NOON, openAt, type OpenWarehouse } from '../support/warehouse.ts'

const [events, enquiries, trails] = (['events', 'enquiries', 'enquiry_audit_entries'] as const).map(reportOf) as [
  ReturnType<typeof reportOf>,
  ReturnType<typeof reportOf>,
  ReturnType<typeof reportOf>,
]
const REPORTS: readonly ReportName[] = ['events', 'enquiries', 'enquiry_audit_entries']
const TABLES = REPORTS.flatMap(feedTablesOf)
const minutes = (count: number): Instant => plusMs(NOON, count * 60_000)

type Row = Readonly<Record<string, unknown>>
/** The rows of all tables, by table and key. */
type State = ReadonlyMap<string, Row>

const keyOf = ({ name, key }: (typeof TABLES)[number], row: Row): string =>
  JSON.stringify([name, ...key.map((column) => row[column.name])])

/** Members that are null are left out, because a new column is null in all older rows. */
const withoutNulls = (json: string): Row =>
  Object.fromEntries(Object.entries(JSON.parse(json) as Row).filter(([, value]) => value !== null))

const rowsOf = async (database: Database, from: string): Promise<Row[]> =>
  (await database.rows<{ row: string }>(`SELECT to_json(t)::VARCHAR AS row FROM (${from}) t`)).map(({ row }) =>
    withoutNulls(row),
  )

/** Publishes, exports and reads the export, as another program would. */
async function exported(opened: OpenWarehouse): Promise<{ state: State; cursor: Cursor }> {
  await opened.warehouse.publish(join(opened.folder, 'published.duckdb'))
  await using copy = await openCopy(opened)
  const to = join(opened.folder, 'export')
  const { manifest } = await exportTo(copy, { to, reports: REPORTS, now: NOON })
  const state = new Map<string, Row>()
  for (const table of TABLES) {
    const files = manifest.tables.find(({ name }) => name === table.name)?.files ?? []
    const list = files.map(({ path }) => `'${join(to, path)}'`).join(', ')
    for (const row of await rowsOf(copy, `SELECT * EXCLUDE (_row_hash) FROM read_parquet([${list}])`))
      state.set(keyOf(table, row), row)
  }
  return { state, cursor: await currentCursor(copy) }
}

const openCopy = ({ folder }: OpenWarehouse) =>
  Database.open(join(folder, 'published.duckdb'), { readOnly: true, memory: '256MB' })

type Changes = ReadonlyMap<string, readonly [change: string, row: Row]>

async function changesSince(opened: OpenWarehouse, cursor: Cursor): Promise<Changes> {
  await using copy = await openCopy(opened)
  const found = new Map<string, readonly [string, Row]>()
  for (const table of TABLES) {
    for (const { _change: change, ...row } of await rowsOf(copy, `FROM changes.${table.name}('${cursor}')`)) {
      const key = keyOf(table, row)
      expect(found.has(key), `${key} comes once`).toBe(false)
      found.set(key, [String(change), row])
    }
  }
  return found
}

/** What a comparison of two exports finds. A removed row has only its key. */
function differences(before: State, after: State): Changes {
  const found = new Map<string, readonly [string, Row]>()
  for (const [key, row] of after) {
    const old = before.get(key)
    if (JSON.stringify(old) === JSON.stringify(row)) continue
    const live = old === undefined ? 'insert' : old['is_deleted'] === true ? 'undelete' : 'update'
    found.set(key, [row['is_deleted'] === true ? 'delete' : live, row])
  }
  for (const [key, row] of before) {
    if (after.has(key)) continue
    const [name, ...values] = JSON.parse(key) as [string, ...unknown[]]
    const columns = TABLES.find((table) => table.name === name)?.key ?? []
    const keys = Object.fromEntries(columns.map((column, n) => [column.name, values[n]]))
    found.set(key, ['delete', { ...keys, is_deleted: true }])
    expect(row).toBeDefined()
  }
  return found
}

interface Step {
  readonly what: 'event' | 'enquiry' | 'trail' | 'missing' | 'reset' | 'emptied' | 'nothing'
  readonly ids: readonly number[]
  readonly value: number
  readonly flag: boolean
}

const steps = fc.array(
  fc.record<Step>({
    what: fc.constantFrom(
      'event',
      'event',
      'event',
      'enquiry',
      'enquiry',
      'trail',
      'missing',
      'reset',
      'emptied',
      'nothing',
    ),
    ids: fc.uniqueArray(fc.integer({ min: 1, max: 3 }), { minLength: 1, maxLength: 3 }),
    value: fc.nat(2),
    flag: fc.boolean(),
  }),
  { minLength: 3, maxLength: 8 },
)

async function perform(opened: OpenWarehouse, { what, ids, value, flag }: Step, minute: number): Promise<void> {
  const observedAt = minutes(minute)
  const items = ids.map((id) => ({ id, value }))
  const given = { observedAt, runId: `run-${minute}`, now: observedAt }
  if (what === 'event') {
    const rows = ids.map((eventId) => ({ eventId, name: `${value}`, isDeleted: flag, meetingRooms: items }))
    await loadRows(opened, events, rows, given)
  } else if (what === 'enquiry') {
    // The same row twice in one load, and a field that only some rows carry.
    const rows = ids.map((enquiryId) => ({
      enquiryId,
      status: value,
      ...(flag && { [`more${value}`]: 1 }),
      taxes: items,
    }))
    await loadRows(opened, enquiries, rows, given)
  } else if (what === 'trail') {
    const rows = flag
      ? items.map(({ id }) => ({ timestamp: formatInstant(minutes(id)), userId: value, action: 'a' }))
      : []
    const window = { record: [1], since: minutes(0), until: minutes(1 + value) }
    await loadRows(opened, trails, rows, { ...given, kind: 'audit', asked: { enquiry_id: 1 }, entryWindows: [window] })
  } else if (what === 'missing') {
    const place = { report: enquiries, scope: '', asked: { start: minutes(-600), filters: {} } }
    for (const reconcileId of [`first-${minute}`, `second-${minute}`]) {
      const begun = { reconcileId, startedAt: observedAt, reached: undefined }
      await opened.warehouse.continueOrBeginReconcile(place, begun)
      await opened.warehouse.endReconcile({ ...place, ...begun, ...given, allowMassDelete: true })
    }
  } else if (what !== 'nothing') {
    const report = flag ? 'events' : 'enquiry_audit_entries'
    await opened.warehouse.reset({ report, empty: what === 'emptied', now: observedAt, serviceNow: observedAt })
  }
}

const step = (what: Step['what'], value: number, flag = false): Step => ({ what, ids: [1, 2], value, flag })
/** One history with every kind of change: also a deletion that ends, an entry that is removed and comes again. */
const EVERY_CHANGE: Step[] = [
  step('event', 0),
  step('event', 0, true),
  step('event', 1),
  step('trail', 2, true),
  step('trail', 2),
  step('trail', 2, true),
  step('emptied', 0, true),
  step('enquiry', 1),
  step('missing', 0),
  step('enquiry', 2),
]

it('has each row that two exports differ by exactly once, from every cursor to the present', {
  tags: 'long',
  timeout: 600_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (all) => {
      await using opened = await aWarehouse()
      const before: { state: State; cursor: Cursor }[] = [{ state: new Map(), cursor: 'start' }]
      for (const [minute, step] of all.entries()) {
        await perform(opened, step, (minute + 1) * 10)
        const present = await exported(opened)
        for (const { state, cursor } of before) {
          const found = await changesSince(opened, cursor)
          expect(found).toEqual(differences(state, present.state))
        }
        before.push(present)
      }
    }),
    { numRuns: Number(process.env['FEED_RUNS'] ?? 3), endOnFailure: true, examples: [[EVERY_CHANGE]] },
  )
})

const anEnquiry = (opened: OpenWarehouse, status: number, minute: number) =>
  loadRows(opened, enquiries, [{ enquiryId: 1, status, odd: '7' }], {
    observedAt: minutes(minute),
    now: minutes(minute),
    runId: `run-${minute}`,
  })
const check = ({ warehouse }: Pick<OpenWarehouse, 'warehouse'>, cursor: Cursor, report: ReportName = 'enquiries') =>
  checkCursor(warehouse, cursor, ['merf_submissions', report])
const inSql = ({ warehouse }: OpenWarehouse, cursor: string) =>
  warehouse.rows<{ _change: string; status: number }>(
    `SELECT _change, status FROM tidemark.changes('enquiries', '${cursor}')`,
  )

it('accepts cursors that trimming leaves, and refuses older ones, also in SQL', async () => {
  await using opened = await aWarehouse()
  const cursors: Cursor[] = []
  for (const minute of [1, 2, 3]) {
    await anEnquiry(opened, minute, minute)
    cursors.push(await currentCursor(opened.warehouse))
  }
  const [first = 'start', second = 'start', third = 'start'] = cursors
  await opened.warehouse.trimBooks(minutes(2))
  await check(opened, second)
  await expect(check(opened, first)).rejects.toMatchObject({ code: 'CURSOR_EXPIRED' })
  await expect(inSql(opened, first)).rejects.toThrow(/too old: it is older than .* Read all rows again/)
  expect(await inSql(opened, second)).toEqual([{ _change: 'update', status: 3 }])
  await opened.warehouse.trimBooks(minutes(9))
  expect(await inSql(opened, third)).toEqual([])
  expect(await inSql(opened, 'start')).toEqual([{ _change: 'insert', status: 3 }])
  await expect(check(opened, second)).rejects.toThrow(/older than the setting "history" allows/)
  expect(await opened.warehouse.rows('FROM tidemark.replaced')).toEqual([])
})

it('runs the statements of the documents', async () => {
  await using opened = await aWarehouse()
  await loadRows(opened, events, [{ eventId: 1, name: 'first' }])
  const block = documents()
    .flatMap(({ blocks }) => blocks)
    .find(({ kind }) => kind === 'sql changes')
  const [cursor] = await opened.warehouse.rows<{ next_cursor: string }>(
    'SELECT tidemark.current_cursor() AS next_cursor',
  )
  expect(await opened.warehouse.rows(block?.text ?? '')).toEqual([
    { _change: 'insert', event_id: 1, name: 'first', ...cursor },
  ])
})

it('refuses cursors of a lost state and of another warehouse, and accepts those that a restored copy knows', async () => {
  await using opened = await aWarehouse()
  await anEnquiry(opened, 1, 1)
  const kept = await currentCursor(opened.warehouse)
  await opened.warehouse.checkpoint()
  const backup = join(opened.folder, 'backup.duckdb')
  await copyFile(opened.path, backup)
  await anEnquiry(opened, 2, 2)
  const lost = await currentCursor(opened.warehouse)
  await using restored = { ...opened, warehouse: await openAt(backup) }
  await expect(check(restored, lost)).rejects.toThrow(/a backup was restored/)
  await anEnquiry(restored, 3, 3)
  await check(restored, kept)
  await expect(inSql(restored, lost)).rejects.toThrow(/another warehouse/)
  await expect(inSql(restored, 'nonsense')).rejects.toThrow(/"nonsense" is no cursor/)
  expect(await inSql(restored, kept)).toEqual([{ _change: 'update', status: 3 }])
  await restored.warehouse.close()
})

it('refuses older cursors of a report whose rows have changed without a load, and says why', async () => {
  await using opened = await aWarehouse()
  await anEnquiry(opened, 1, 1)
  const before = await currentCursor(opened.warehouse)
  await opened.warehouse.retypeColumn({ column: 'enquiries.odd', type: 'BIGINT', excludesPayload: () => false })
  const after = await currentCursor(opened.warehouse)
  await expect(check(opened, before)).rejects.toThrow('too old for enquiries: the type of enquiries.odd was changed')
  await check(opened, before, 'events')
  expect(await inSql(opened, after)).toEqual([])
  for (const columns of [
    undefined,
    privacyText({ columns: { booker_email: 'drop' }, excludePayload: false }, undefined),
  ]) {
    const asked = { start: NOON, filters: {}, expand: [], ...(columns && { columns }) }
    const place = { report: 'enquiries', scope: '' } as const
    await opened.warehouse.recordCoverage(place, { settings: asked, refillUntil: undefined, because: [] })
  }
  await expect(check(opened, after)).rejects.toThrow('stored values became private')
})
