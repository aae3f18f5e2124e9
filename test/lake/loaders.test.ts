/**
 * Several processes load into one lake at once: nothing is lost, doubled or numbered twice, and the older run gives
 * way.
 */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { reportOf } from '../../schema/index.ts'
import { Database } from '../../src/warehouse/database/duckdb.ts'
import { attachLake, type LakePlace } from '../../src/warehouse/database/lake.ts'
import { Warehouse } from '../../src/warehouse/warehouse.ts'
import { aPlace, aWorld } from '../cli/support.ts'
import { aWorkshop, stop, until } from '../jobs/support.ts'
import { extensionsFolder } from '../support/extensions.ts'
import { type PostgresServer, startPostgresHere } from '../support/postgresServer.ts'
import { aFolder, at, loadRows, NOON, type OpenWarehouse, texts } from '../support/warehouse.ts'

const events = reportOf('events')
const enquiries = reportOf('enquiries')
const trail = reportOf('enquiry_audit_entries')

const rowsOf = (key: string, from: number) => Array.from({ length: 10 }, (_, n) => ({ [key]: from + n, name: `${n}` }))

let postgres: PostgresServer
beforeAll(async () => {
  postgres = await startPostgresHere()
})
afterAll(() => postgres.stop())

describe.each(['sqlite', 'postgres'] as const)('a lake with its catalogue in %s', (catalogue) => {
  /** One lake in a folder of the test's own, and as many loaders on it as are asked for. */
  async function aLake(loaders: number) {
    const folder = await aFolder()
    const at = catalogue === 'sqlite' ? join(folder.path, 'lake.sqlite') : await postgres.newDatabase()
    const lake: LakePlace = { catalogue, at, data: `${folder.path}/files/`, extensions: extensionsFolder() }
    const settings = { lake, memory: '256MB', threads: 1 }
    const opened = await Promise.all(
      Array.from({ length: loaders }, async (_, index): Promise<OpenWarehouse> => {
        const path = join(folder.path, `loader-${index}`)
        const warehouse = await Warehouse.open({ ...settings, path })
        return { warehouse, folder: folder.path, path, [Symbol.asyncDispose]: () => warehouse.close() }
      }),
    )
    return {
      lake,
      opened,
      [Symbol.asyncDispose]: async () => {
        for (const each of opened) await each.warehouse.close()
        await folder[Symbol.asyncDispose]()
      },
    }
  }

  it('takes a new type for a discovered column, also from the loader that did not change it', async () => {
    await using made = await aLake(2)
    const [one, two] = made.opened as [OpenWarehouse, OpenWarehouse]
    await loadRows(one, events, '[{"eventId":1,"odd":7}]')
    await loadRows(two, events, '[{"eventId":2,"odd":"n/a"},{"eventId":3,"odd":8}]')
    const retyped = await one.warehouse.retypeColumn({
      column: 'events.odd',
      type: 'VARCHAR',
      excludesPayload: () => false,
    })
    expect(retyped).toMatchObject({ from: 'BIGINT', to: 'VARCHAR', misfits: 0 })
    await loadRows(two, events, '[{"eventId":4,"odd":"new"}]')
    const held = await texts(two, 'main.events', { columns: ['event_id', 'odd'] })
    expect(new Set(held.map(({ odd }) => odd))).toEqual(new Set(['7', '8', 'n/a', 'new']))
  })

  it('takes the loads of two loaders at once, each row once, each load with a number of its own', async () => {
    await using made = await aLake(2)
    const [one, two] = made.opened as [OpenWarehouse, OpenWarehouse]
    for (const from of [100, 200, 300]) {
      await Promise.all([
        loadRows(one, events, rowsOf('eventId', from)),
        loadRows(two, enquiries, rowsOf('enquiryId', from)),
      ])
      // The same rows from both, as two runs of different kinds may bring them.
      await Promise.all([one, two].map((each) => loadRows(each, events, rowsOf('eventId', from + 50))))
    }
    const [found] = await one.warehouse.rows<Record<string, number>>(`
      SELECT (SELECT count(*) FROM events) AS events, (SELECT count(DISTINCT event_id) FROM events) AS keys,
        (SELECT count(*) FROM enquiries) AS enquiries, (SELECT count(*) FROM tidemark.loads) AS loads,
        (SELECT count(DISTINCT load_id) FROM tidemark.loads) AS numbers`)
    expect(found).toEqual({ events: 60, keys: 60, enquiries: 30, loads: 12, numbers: 12 })
    await Promise.all([one, two].map(({ warehouse }) => warehouse.trimBooks(at('2100-01-01T00:00:00Z'))))
    expect(await texts(one, 'events', { columns: ['event_id'] })).toHaveLength(60)
  })

  it('lets only the newest run of a report commit, whichever process it is in', async () => {
    await using made = await aLake(2)
    const [one, two] = made.opened as [OpenWarehouse, OpenWarehouse]
    const ask = { report: 'events', kind: 'incremental' } as const
    const older = await one.warehouse.takeFence({ ...ask, holder: 'run-1' })
    const newer = await two.warehouse.takeFence({ ...ask, holder: 'run-2' })
    await expect(loadRows(one, events, rowsOf('eventId', 1), { fence: older })).rejects.toMatchObject({
      code: 'FENCED',
    })
    await loadRows(two, events, rowsOf('eventId', 1), { fence: newer })
    expect(await texts(one, 'events', { columns: ['event_id'] })).toHaveLength(10)
  })

  it('widens a column of numbers without losing a value, in tables and history, while another loader adds one', async () => {
    await using made = await aLake(2)
    const [one, two] = made.opened as [OpenWarehouse, OpenWarehouse]
    await one.warehouse.recordReportStates([
      { report: 'events', enabled: true, offReason: undefined, history: { on: true, now: NOON } },
    ])
    await loadRows(one, events, [{ eventId: 1, odd: 12 }])
    await Promise.all([
      loadRows(
        one,
        events,
        [
          { eventId: 2, odd: 1.5 },
          { eventId: 1, odd: 13 },
        ],
        { observedAt: '2026-03-01T13:00:00Z' },
      ),
      loadRows(two, events, [{ eventId: 3, other: true }]),
    ])
    await loadRows(two, events, [{ eventId: 4, odd: 'text' }])
    expect(await texts(one, 'events', { columns: ['event_id', 'odd', 'other'] })).toEqual([
      { event_id: '1', odd: expect.stringMatching(/^13(\.0+)?$/), other: null },
      { event_id: '2', odd: expect.stringMatching(/^1\.50*$/), other: null },
      { event_id: '3', odd: null, other: 'true' },
      { event_id: '4', odd: null, other: null },
    ])
    expect(await one.warehouse.rows('SELECT "column", key, value FROM tidemark.misfits')).toEqual([
      { column: 'odd', key: '4', value: '"text"' },
    ])
    const closed = await texts(one, 'history.events', { columns: ['event_id', 'odd'], where: '_valid_to IS NOT NULL' })
    expect(closed).toEqual([{ event_id: '1', odd: expect.stringMatching(/^12(\.0+)?$/) }])
  })

  it('replaces the entries of a record within its window; their history has those that left, once', async () => {
    await using made = await aLake(1)
    const [one] = made.opened as [OpenWarehouse]
    await one.warehouse.recordReportStates([
      { report: 'enquiry_audit_entries', enabled: true, offReason: undefined, history: { on: true, now: NOON } },
    ])
    const record = [1]
    const entryWindows = [{ record, since: NOON, until: at('2026-03-01T13:00:00Z') }]
    const read = (hour: number, actions: string) => {
      const rows = actions.split(' ').map((action, n) => ({ timestamp: `2026-03-01T12:0${n}:00Z`, userId: 1, action }))
      const observedAt = `2026-03-01T${hour}:00:00Z`
      return loadRows(one, trail, rows, { observedAt, asked: { enquiry_id: 1 }, kind: 'audit', entryWindows })
    }
    expect(await read(14, 'a b c')).toMatchObject({ inserted: 3, deleted: 0 })
    expect(await read(15, 'a x c y z')).toMatchObject({ inserted: 3, deleted: 1, unchanged: 2 })
    expect(await read(16, 'x c y')).toMatchObject({ deleted: 5 })
    const columns = ['entry_number', 'action']
    const shown = async (table: string, where = 'true') =>
      (await texts(one, table, { columns, where })).map((row) => `${row['entry_number']}${row['action']}`).toSorted()
    expect(await shown('main.enquiry_audit_entries')).toEqual(['7x', '8c', '9y'])
    const left = await shown('history.enquiry_audit_entries', '_valid_to IS NOT NULL')
    expect(left.join(' ')).toBe('1a 2b 3c 4x 5y 6z')
  })

  it('is read by a DuckDB that attaches it under a name of its own, also at an older snapshot', async () => {
    await using made = await aLake(1)
    const [one] = made.opened as [OpenWarehouse]
    await loadRows(one, events, [{ eventId: 1, name: 'first' }])
    await using reader = await Database.open(':memory:', { memory: '256MB' })
    await attachLake(reader, made.lake, 'mine')
    const [before] = await reader.rows<{ id: number }>(`SELECT max(snapshot_id)::INTEGER AS id FROM mine.snapshots()`)
    await loadRows(one, events, [{ eventId: 2, name: 'second' }])
    await reader.run('USE mine')
    expect(await reader.rows('SELECT event_id, name FROM current.events ORDER BY event_id')).toEqual([
      { event_id: 1, name: 'first' },
      { event_id: 2, name: 'second' },
    ])
    expect(await reader.rows(`SELECT event_id FROM main.events AT (VERSION => ${before?.id})`)).toEqual([
      { event_id: 1 },
    ])
    await expect(reader.run('DELETE FROM main.events')).rejects.toThrow(/read-only/i)
  })
})

describe('two processes that sync into one lake', () => {
  it('bring their own reports at once; the same report ends well in one of them at least, without a double', async () => {
    await using world = await aWorld()
    await using other = await aPlace({ env: { REPORTING_CLIENT_SECRET: 'marked-hunter2-"secret"' } })
    const lake = { warehouse: `ducklake:sqlite:${world.folder}/lake.sqlite`, extensions: extensionsFolder() }
    await world.configure(lake)
    const config = ['--config', `${world.folder}/tidemark.yaml`]
    const ended = await Promise.all([world.run('sync', 'events', ...config), other.run('sync', 'enquiries', ...config)])
    expect(
      ended.map(({ code }) => code),
      ended.map(({ stderr }) => stderr).join('\n'),
    ).toEqual([0, 0])
    const again = await Promise.all([1, 2].map(() => world.run('sync', 'merf_submissions', ...config)))
    expect(again.map(({ code }) => code)).toContain(0)
    for (const { code, stdout } of again) if (code !== 0) expect(stdout).toContain('FENCED')
    const asked = await world.run('query', '--format', 'csv', COUNTS, ...config)
    const { world: service } = world.sandbox
    const submissions = service.liveKeys('merf_submissions').length
    const counts = [service.keys('events').length, service.liveKeys('enquiries').length, submissions, submissions]
    expect(asked.stdout, asked.stderr).toContain(counts.join(','))
    expect((await world.run('status', ...config)).stdout).toMatch(/events +.*40/)
  })
})

describe('a worker on a lake', () => {
  it('syncs into it by its timetable, and does what commands ask of it', async () => {
    await using shop = await aWorkshop({ store: 'embedded', settings: { extensions: extensionsFolder() } })
    const lake = { warehouse: `ducklake:sqlite:${shop.folder}/lake.sqlite`, extensions: extensionsFolder() }
    await shop.configure(lake)
    const worker = shop.worker()
    const [event] = shop.sandbox.world.liveKeys('events') as [number]
    await until(() => /events: \d+ pages?/.test(worker.said()))
    shop.sandbox.world.edit('events', event)
    const { stdout, stderr } = await shop.run('sync', 'events', '--json')
    expect(JSON.parse(stdout), stderr).toMatchObject({ reports: [{ state: 'done' }] })
    const reconciled = await shop.run('reconcile', 'events')
    expect(reconciled.code, reconciled.stdout + reconciled.stderr).toBe(0)
    const asked = await shop.run('query', '--format', 'csv', 'SELECT count(*) AS n FROM events')
    expect(asked.stdout, asked.stderr).toContain('40')
    expect((await stop(worker)).code).toBe(0)
  })
})

const COUNTS =
  'SELECT (SELECT count(*) FROM events), (SELECT count(*) FROM enquiries), (SELECT count(*) FROM merf_submissions), (SELECT count(DISTINCT submission_id) FROM merf_submissions)'
