/**
 * `kill -9` of a sync at many moments, while the service goes on changing: after each of them the books are true to the
 * rows, and one clean run makes the warehouse equal to the service.
 */
import { expect } from 'vitest'
import { reportNames, reportOf } from '../../schema/index.ts'
import { tableOf } from '../../schema/tables.ts'
import { systemClock } from '../../src/clock.ts'
import { ENTITY_IDS, type Sandbox, startSandbox, type WorldReport } from '../../src/sandbox/server.ts'
import { Warehouse } from '../../src/warehouse/warehouse.ts'
import { aPlace, type Place, startSync } from './ownProcess.ts'
import { markOf } from '../support/held.ts'
import { differencesButAbsence, WORLD_REPORTS } from './stories.ts'

const DELAY_MS_MAX = 1_100

/** Equal seeds kill at equal delays. */
function* delays(seed: number): Generator<number, never> {
  let state = seed >>> 0
  for (;;) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    // The square root of a uniform number leans to late moments, the first hundred milliseconds are all token and clock.
    yield Math.floor(Math.sqrt(state / 2 ** 32) * DELAY_MS_MAX)
  }
}

const SETTINGS = {
  defaults: { page_size: 25 },
  // Small loads: many commits, and many moments between them.
  limits: { load_rows_max: 30 },
  reports: { audit_entries: { entities: [{ entity_id: ENTITY_IDS.events, follows: 'events' }] } },
}

export interface Stage {
  readonly sandbox: Sandbox
  readonly warehouse: Warehouse
  readonly config: Place['config']
}

/** Rows of the service that the mark says are here, and that are not here in that version. */
export async function aheadOfData(stage: Stage, report: WorldReport): Promise<string[]> {
  const { world } = stage.sandbox
  const mark = await markOf(stage, report, reportOf(report).currency === undefined ? '' : 'EUR')
  if (mark === undefined) return []
  const markTicks = (mark - Date.UTC(2020, 0, 1) * 1_000) * 10
  return (await differencesButAbsence(stage, report)).filter((each) => {
    const row = world.tables[report].find(Number(/the row (\d+)/.exec(each)?.[1]))
    return row === undefined || row.aggregate <= markTicks
  })
}

export async function untrueBooks(stage: Stage, only?: readonly WorldReport[]): Promise<string[]> {
  const found: string[] = []
  for (const report of only ?? WORLD_REPORTS) found.push(...(await aheadOfData(stage, report)))
  for (const report of only ?? reportNames) {
    const { name, key, children } = tableOf(reportOf(report))
    const doubled = async (table: string, columns: readonly string[]) => {
      const [row] = await stage.warehouse.rows<{ n: number }>(
        `SELECT count(*) - count(DISTINCT (${columns.join(', ')})) AS n FROM ${table}`,
      )
      if (row?.n !== 0) found.push(`${table} holds ${row?.n} keys twice`)
    }
    await doubled(name, key)
    for (const child of children) {
      await doubled(child.name, [...key, '_child_key'])
      const parent = key.map((column) => `p.${column} = c.${column}`).join(' AND ')
      const [row] = await stage.warehouse.rows<{ n: number }>(
        `SELECT count(*) AS n FROM ${child.name} c WHERE NOT EXISTS (SELECT 1 FROM ${name} p WHERE ${parent})`,
      )
      if (row?.n !== 0) found.push(`${child.name} holds ${row?.n} orphans`)
    }
  }
  return found
}

async function onStage<T>(place: Place, sandbox: Sandbox, work: (stage: Stage) => Promise<T>): Promise<T> {
  await using warehouse = await Warehouse.open({ path: place.config.warehouse, memory: '1GB' })
  return await work({ sandbox, warehouse, config: place.config })
}

/** Records whose entries are not those of the service. */
async function incompleteTrails({ sandbox, warehouse }: Stage): Promise<string[]> {
  const held = await warehouse.rows<{ record: string; n: number; last: number }>(`
    SELECT entity_id || ':' || entity_record_id AS record, count(*) AS n, max(entry_number) AS last FROM audit_entries GROUP BY 1
    UNION ALL SELECT '1:' || enquiry_id, count(*), max(entry_number) FROM enquiry_audit_entries GROUP BY 1`)
  const counts = new Map(held.map(({ record, n, last }) => [record, n === last ? n : -1]))
  const { world } = sandbox
  const asked = [
    ...world.keys('events').map((key) => [ENTITY_IDS.events, key] as const),
    ...world.keys('enquiries').map((key) => [ENTITY_IDS.enquiries, key] as const),
  ]
  return asked.flatMap(([entity, key]) => {
    const sent = world.auditEntries(entity, key).length
    const count = counts.get(`${entity}:${key}`) ?? 0
    return sent === count ? [] : [`${entity}:${key} has ${sent} entries, ${count} are held`]
  })
}

/** Asserts that no kill leaves a mark ahead of the data, and that one clean run afterwards is complete. */
export async function killSyncs({ kills, seed }: { kills: number; seed: number }): Promise<void> {
  await using sandbox = await startSandbox({ rows: 80, itemsPerCollection: 1 })
  await using place = await aPlace(sandbox.url, SETTINGS)
  const delay = delays(seed)
  let killed = 0
  for (let n = 0; n < kills; n += 1) {
    sandbox.setChangesPerSecond(30)
    const { child, started, ended } = startSync(place)
    await started
    await systemClock.sleep(delay.next().value)
    child.kill('SIGKILL')
    if ((await ended) === undefined) killed += 1
    sandbox.setChangesPerSecond(0)
    expect(await onStage(place, sandbox, untrueBooks), `after kill ${n + 1}`).toEqual([])
  }
  expect(killed, 'syncs that were killed before their end').toBeGreaterThan(kills / 2)
  const { ended } = startSync(place)
  expect((await ended)?.outcomes?.filter(({ state }) => state !== 'done')).toEqual([])
  await onStage(place, sandbox, async (stage) => {
    expect(await differencesButAbsence(stage, ...WORLD_REPORTS)).toEqual([])
    expect(await incompleteTrails(stage)).toEqual([])
    expect(await untrueBooks(stage)).toEqual([])
  })
}
