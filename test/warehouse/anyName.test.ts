/**
 * The service may call a field as our own statements call what they work with: the name then stands for a column of its
 * own, and for nothing else. So rows and items that carry a field for every such name do as those without them.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { reports } from '../../schema/index.ts'
import { budgets } from '../../schema/reports/budgets.ts'
import { enquiries } from '../../schema/reports/enquiries.ts'
import { enquiryAuditEntries } from '../../schema/reports/enquiryAuditEntries.ts'
import { events } from '../../schema/reports/events.ts'
import { Database } from '../../src/warehouse/database/duckdb.ts'
import { exportTo } from '../../src/warehouse/publish/export.ts'
import { at, aWarehouse, loadRows, NOON, type OpenWarehouse, texts } from '../support/warehouse.ts'

const ROOM = join(import.meta.dirname, '../../src/warehouse')
/** Fields that mean something already: documented ones, and those of the items below. */
const OWN = new Set([...reports.flatMap(({ fields }) => Object.keys(fields)), 'id', 'size', 'by'])

/** Every name that a statement of the warehouse gives, and those of one letter, as which tables are spoken of. */
function namesGiven(): string[] {
  const files = readdirSync(ROOM, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'))
  const given = files.flatMap((file) =>
    [...readFileSync(join(ROOM, file), 'utf8').matchAll(/\b(?:AS|FROM|JOIN) "?([a-z][a-z_]*)\b/g)].map(
      ([, found]) => found as string,
    ),
  )
  return [...new Set([...given, ...'abcdefghijklmnopqrstuvwxyz'.split('')])].filter((each) => !OWN.has(each)).toSorted()
}

const LIVED = ['events', 'enquiries', 'budgets', 'enquiry_audit_entries'] as const
const COUNTS = ['rows', 'inserted', 'updated', 'unchanged', 'deleted', 'children_written', 'rejected', 'late']

const HOURS = [10, 11, 12, 13, 14].map((hour) => `2026-03-01T${hour}:00:00Z`)
const [FIRST, SECOND, THIRD, FOURTH, FIFTH] = HOURS as [string, string, string, string, string]

/** Rows through everything that is done with them, each with the fields `odd` beside its own. */
async function lived(opened: OpenWarehouse, odd: object): Promise<void> {
  const { warehouse } = opened
  const states = LIVED.map((report) => ({
    report,
    enabled: true,
    offReason: undefined,
    history: { on: true, now: at(FIRST) },
  }))
  await warehouse.recordReportStates(states)
  const enquiry = (id: number, bookerEmail: string, rooms: readonly number[]) => ({
    ...odd,
    enquiryId: id,
    bookerEmail,
    tags: [bookerEmail],
    bedrooms: rooms.map((room) => ({ ...odd, id: room, size: bookerEmail })),
    approver: { ...odd, by: bookerEmail },
  })
  const event = (name: string, recordModified: string, isDeleted = false) => ({
    ...odd,
    eventId: 1,
    name,
    recordModified,
    isDeleted,
    meetingRooms: [{ ...odd, name }, { ...odd, name }, odd],
  })
  const followers = [{ report: 'enquiry_audit_entries', scopePrefix: '', settleMs: 0 }]
  await loadRows(opened, enquiries, [enquiry(1, 'a', [1, 2]), enquiry(2, 'a', [1])], { observedAt: FIRST, followers })
  await loadRows(opened, enquiries, [enquiry(1, 'b', [2, 3]), enquiry(1, 'c', [2, 4])], { observedAt: SECOND })
  await loadRows(opened, enquiries, [{ ...odd, enquiryId: 1, status: 5 }], { observedAt: THIRD })
  await loadRows(opened, events, [event('old', FIRST), event('new', SECOND), event('ahead', FIFTH)], {
    observedAt: SECOND,
    previousRead: { until: at(FIRST), at: at(FIRST) },
  })
  await loadRows(opened, events, [event('newer', THIRD), event('gone', FOURTH, true)], { observedAt: FOURTH })
  const budget = { ...odd, budgetId: 1, budgetName: 'a' }
  await loadRows(opened, budgets, [budget, { ...odd, budgetId: 'none' }], { observedAt: FIRST, gone: [] })
  await loadRows(opened, budgets, [budget], { observedAt: SECOND, gone: [[1, 'EUR']] })
  for (const [hour, actions] of [
    [SECOND, 'ab'],
    [THIRD, 'bbc'],
  ] as const) {
    const rows = actions.split('').map((action) => ({ ...odd, timestamp: FIRST, userId: 1, action }))
    await loadRows(opened, enquiryAuditEntries, rows, {
      observedAt: hour,
      asked: { enquiry_id: 1 },
      kind: 'audit',
      entryWindows: [{ record: [1], since: at(FIRST), until: at(SECOND) }],
    })
  }
  const place = { report: enquiries, scope: '', asked: { start: at(FIRST), filters: {} } }
  for (const reconcileId of ['first', 'second']) {
    const begun = { reconcileId, startedAt: at(FIFTH), reached: undefined }
    await warehouse.continueOrBeginReconcile(place, begun)
    await loadRows(opened, enquiries, [{ ...odd, enquiryId: 1, status: 5 }], {
      observedAt: THIRD,
      kind: 'reconcile',
      reconcile: { reconcileId, reached: at(FIFTH) },
    })
    const ending = { ...place, ...begun, runId: 'run-1', now: at(FIFTH) }
    await warehouse.endReconcile({ ...ending, allowMassDelete: false })
  }
}

/** What the fields don't change in themselves: all columns but those that keep what was sent. */
const SHARED = `SELECT schema_name AS schema, table_name AS "table", string_agg('"' || column_name || '"', ', ') AS columns
  FROM duckdb_columns() WHERE database_name = current_database() AND schema_name IN ('main', 'history', 'current')
    AND NOT internal AND column_name NOT IN ('_payload', '_row_hash') GROUP BY ALL`

interface SharedColumns {
  readonly schema: string
  readonly table: string
  readonly columns: string
}

/** What is held and exported, of those columns alone. */
async function held(opened: OpenWarehouse, shared: readonly SharedColumns[]): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = {}
  for (const { schema, table, columns } of shared) {
    const place = `${schema}."${table}"`
    const sent = columns.replace(/"_extra"/, `json_extract("_extra", '/tags') AS "_extra"`)
    found[place] = await opened.warehouse.rows(
      `SELECT COLUMNS(*)::VARCHAR FROM (SELECT ${sent} FROM ${place}) ORDER BY ALL`,
    )
  }
  found['followed'] = await texts(opened, 'tidemark.followed')
  found['loads'] = await texts(opened, 'tidemark.loads', { columns: COUNTS })
  const published = join(opened.folder, 'published.duckdb')
  await opened.warehouse.publish(published)
  await using copy = await Database.open(published, { readOnly: true, memory: '512MB' })
  const { manifest } = await exportTo(copy, { to: join(opened.folder, 'out'), reports: LIVED, now: NOON })
  for (const { name, files } of manifest.tables) {
    found[`export of ${name}`] = files.map(({ keys, rows, deleted }) => ({ keys, rows, deleted }))
  }
  return found
}

it('a field may have any name that our own statements use', { tags: 'long' }, async () => {
  await using plain = await aWarehouse()
  await using odd = await aWarehouse()
  await lived(plain, {})
  await lived(odd, Object.fromEntries(namesGiven().map((each) => [each, `the field ${each}`])))
  const shared = await plain.warehouse.rows<SharedColumns>(SHARED)
  const expected = await held(plain, shared)
  expect(expected['main."events"']).toMatchObject([{ name: 'gone', is_deleted: 'true' }])
  expect(await held(odd, shared)).toEqual(expected)
})
