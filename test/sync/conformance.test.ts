/** Every declaration passes the same test, over real HTTP against the sandbox, which knows nothing of declarations. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Declaration, reportOf, reports } from '../../schema/index.ts'
import { ENTITY_IDS, WORLD_REPORTS, type WorldReport } from '../../src/sandbox/server.ts'
import { differences } from '../../src/cli/certify/compare.ts'
import { aTide, type Tide } from '../support/tide.ts'

const windowed = WORLD_REPORTS.map((name) => ({ name }))

it('covers every declared report, since the sandbox serves them all', () => {
  const declared: readonly Declaration[] = reports
  expect(declared.filter(({ perRecord }) => perRecord === undefined).map(({ name }) => name)).toEqual(WORLD_REPORTS)
})

async function allDifferences(tide: Tide, report: WorldReport): Promise<string[]> {
  const currencies = reportOf(report).currency === undefined ? [undefined] : (['EUR', 'USD'] as const)
  const found = await Promise.all(
    currencies.map((currency) =>
      differences(tide.warehouse, tide.sandbox.world, currency === undefined ? { report } : { report, currency }),
    ),
  )
  return found.flat()
}

describe.each(windowed)('$name', ({ name }) => {
  // The first three tests share a first run: each of them leaves a warehouse that is equal to the service.
  let tide: Tide
  beforeAll(async () => {
    tide = await aTide({ sandbox: { rows: 60 }, settings: { defaults: { page_size: 25 } } })
    await tide.sync(name)
  })
  afterAll(() => tide[Symbol.asyncDispose]())

  it('lands every row of the service exactly once, every field and collection exact', async () => {
    expect(await allDifferences(tide, name)).toEqual([])
    const [counted] = await tide.warehouse.rows<{ doubled: number }>(
      `SELECT count(*) - count(DISTINCT concat_ws('/', ${reportOf(name).key.join(', ')})) AS doubled FROM ${name}`,
    )
    expect(counted?.doubled).toBe(0)
  })

  it('rewrites nothing when the same window is pulled again', async () => {
    const before = await fingerprint(tide, name)
    await tide.warehouse.rows(`DELETE FROM tidemark.marks`)
    const [again] = await tide.sync(name)
    expect(again?.figures).toMatchObject({ inserted: 0, updated: 0, deleted: 0, childrenWritten: 0 })
    expect(await fingerprint(tide, name)).toEqual(before)
  })

  it('brings edits, child edits, a removed child and new rows with the next run', async () => {
    const { world } = tide.sandbox
    const [first, second, third, fourth, fifth] = world.liveKeys(name) as [number, number, number, number, number]
    world.edit(name, first)
    world.editChild(name, second)
    world.removeChild(name, third)
    world.clearChildren(name, fourth)
    world.addChild(name, fifth)
    world.insert(name)
    await tide.sync(name)
    expect(await allDifferences(tide, name)).toEqual([])
  })

  it('takes the newest of many edits between two runs', async () => {
    await using tide = await aTide()
    await tide.sync(name)
    const { world } = tide.sandbox
    for (let n = 0; n < 40; n += 1) world.tick(name)
    await tide.sync(name)
    const gone = reportOf(name).deletes === 'absence'
    const found = await allDifferences(tide, name)
    // Rows that just stop appearing are seen by a reconcile only (product contract §4).
    expect(gone ? found.filter((each) => !each.endsWith('the service does not have it')) : found).toEqual([])
  })
})

describe.each(['events', 'budgets'] as const)('deletions of %s', (name) => {
  it('arrive, keep the row and its children, and can be undone', async () => {
    await using tide = await aTide()
    await tide.sync(name)
    const { world } = tide.sandbox
    const [key] = world.liveKeys(name) as [number]
    world.softDelete(name, key)
    await tide.sync(name)
    expect(await allDifferences(tide, name)).toEqual([])
    const id = name === 'events' ? 'event_id' : 'budget_id'
    const state = () =>
      tide.warehouse.rows(
        `SELECT DISTINCT is_deleted, _delete_evidence AS evidence, _deleted_seen_at IS NOT NULL AS seen FROM ${name} WHERE ${id} = ${key}`,
      )
    expect(await state()).toEqual([{ is_deleted: true, evidence: name === 'events' ? 'flag' : 'diff', seen: true }])
    world.undelete(name, key)
    await tide.sync(name)
    expect(await state()).toEqual([{ is_deleted: false, evidence: null, seen: false }])
    expect(await allDifferences(tide, name)).toEqual([])
  })
})

describe('both shapes of an event', () => {
  it('land in one table, the summary filling only its own columns', async () => {
    await using tide = await aTide({ sandbox: { eventShape: 'mixed' } })
    await tide.sync('events')
    const rows = await tide.warehouse.rows<{
      summary: boolean
      n: number
      named: number
      stamped: number
      towns: number
    }>(`
      SELECT total_changes IS NOT NULL AS summary, count(*) AS n, count(name) AS named,
        count(aggregate_record_modified) AS stamped, count(town) AS towns
      FROM events GROUP BY 1 ORDER BY 1`)
    expect(rows.map((row) => row.summary)).toEqual([false, true])
    for (const row of rows) expect(row).toMatchObject({ named: row.n, stamped: row.n })
    expect(rows[1]?.towns).toBe(0)
  })
})

describe('audit reports', () => {
  it('hold every entry of every followed record, and ask again only about records that changed', async () => {
    await using tide = await aTide()
    await tide.sync()
    const { world } = tide.sandbox
    expect(await heldEntries(tide)).toEqual(sentEntries(tide))
    tide.sandbox.requests.clear()
    const [event] = world.liveKeys('events') as [number]
    world.edit('events', event)
    await tide.sync()
    expect(await heldEntries(tide)).toEqual(sentEntries(tide))
    const asked = tide.sandbox.requests.list().filter((each) => each.path.endsWith('GetAuditReport'))
    expect(asked.map((each) => (JSON.parse(each.body) as { entityRecordId: number }).entityRecordId)).toEqual([event])
  })
})

function sentEntries(tide: Tide): Record<string, number> {
  const { world } = tide.sandbox
  const counts: Record<string, number> = {}
  for (const key of world.keys('events')) counts[`3:${key}`] = world.auditEntries(3, key).length
  for (const key of world.liveKeys('enquiries'))
    counts[String(key)] = world.auditEntries(ENTITY_IDS.enquiries, key).length
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0))
}

async function heldEntries(tide: Tide): Promise<Record<string, number>> {
  const rows = await tide.warehouse.rows<{ record: string; n: number; last: number }>(`
    SELECT entity_id || ':' || entity_record_id AS record, count(*) AS n, max(entry_number) AS last FROM audit_entries GROUP BY 1
    UNION ALL SELECT enquiry_id::VARCHAR, count(*), max(entry_number) FROM enquiry_audit_entries GROUP BY 1`)
  for (const { record, n, last } of rows) expect(last, `entries of ${record} are numbered without gaps`).toBe(n)
  return Object.fromEntries(rows.map(({ record, n }) => [record, n]))
}

/** Everything that a rewritten row would change. */
async function fingerprint(tide: Tide, name: WorldReport): Promise<unknown> {
  const tables = await tide.warehouse.rows<{ name: string }>(
    `SELECT table_name AS name FROM duckdb_tables() WHERE database_name = current_database() AND schema_name = 'main'
      AND (table_name = '${name}' OR starts_with(table_name, '${name}__')) ORDER BY 1`,
  )
  return Promise.all(
    tables.map(({ name: table }) =>
      tide.warehouse.rows(`SELECT '${table}' AS name, count(*) AS n, bit_xor(hash(t)) AS hash FROM main."${table}" t`),
    ),
  )
}
