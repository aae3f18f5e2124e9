/**
 * Turns of loaders on a lake in PostgreSQL. No load is repeated because another one committed first. A loader that is
 * frozen, parted from the catalogue or dead blocks the others only for seconds.
 */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { inspect } from 'node:util'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { reportOf } from '../../schema/index.ts'
import { repeat, systemClock } from '../../src/clock.ts'
import { Database } from '../../src/warehouse/database/duckdb.ts'
import { openLake } from '../../src/warehouse/database/lake.ts'
import { Warehouse } from '../../src/warehouse/warehouse.ts'
import { extensionsFolder } from '../support/extensions.ts'
import { type PostgresServer, startPostgresHere } from '../support/postgresServer.ts'
import { mayLosePackets, startProxy } from '../support/tcpProxy.ts'
import { aFolder, loadRows, type OpenWarehouse } from '../support/warehouse.ts'

let postgres: PostgresServer
beforeAll(async () => {
  postgres = await startPostgresHere()
})
afterAll(() => postgres.stop())

const SMALL = 'INSERT INTO numbers VALUES (0)'

/** A lake with one table of numbers. Each loader connects to its port of the catalogue. */
async function aLake(ports: readonly (number | undefined)[], at: string) {
  const folder = await aFolder()
  const loaders: Database[] = []
  for (const port of ports) {
    const catalogue = port === undefined ? at : at.replace(/port=\d+/, `port=${port}`)
    const place = { catalogue: 'postgres', at: catalogue, data: `${join(folder.path, 'files')}/` } as const
    loaders.push(await openLake({ ...place, extensions: extensionsFolder() }, { memory: '256MB', threads: 1 }))
  }
  await loaders[0]?.run('CREATE TABLE numbers (n INTEGER)')
  return {
    loaders: loaders as [Database, Database],
    [Symbol.asyncDispose]: async () => {
      for (const loader of loaders) await loader.close()
      await folder[Symbol.asyncDispose]()
    },
  }
}

const portOf = (at: string): number => Number(/port=(\d+)/.exec(at)?.[1])

/** Commits small rows one after the other until it is disposed. */
function smallCommits(loader: Database) {
  let commits = 0
  const ending = new AbortController()
  const running = (async () => {
    while (!ending.signal.aborted) {
      await loader.transaction((sql) => sql.run(SMALL))
      commits += 1
    }
  })()
  return {
    count: () => commits,
    [Symbol.asyncDispose]: async () => {
      ending.abort()
      await running
    },
  }
}

it('a commit that takes longer than many small ones is done once, and they wait for it', async () => {
  await using lake = await aLake([undefined, undefined], await postgres.newDatabase())
  const [large, small] = lake.loaders
  await using commits = smallCommits(small)
  for (let load = 1; load <= 3; load += 1) {
    let tries = 0
    await large.transaction(async (sql) => {
      tries += 1
      await sql.run(`INSERT INTO numbers VALUES (${load})`)
      const before = commits.count()
      // The small commits wait for their turn, so this wait has a limit.
      for (let waited = 0; waited < 20 && commits.count() < before + 2; waited += 1) await sleep(25)
    })
    expect(tries).toBe(1)
    const after = commits.count()
    while (commits.count() < after + 2) await sleep(25)
  }
  expect(await large.rows('SELECT n FROM numbers WHERE n > 0 ORDER BY n')).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }])
})

it('a loader that is parted from the catalogue with the turn blocks the others for seconds only, and loads later', async () => {
  const at = await postgres.newDatabase()
  await using proxy = await startProxy(portOf(at))
  await using lake = await aLake([proxy.port, undefined], at)
  const [parted, other] = lake.loaders
  const hasTurn = Promise.withResolvers<void>()
  let tries = 0
  const loaded = parted.transaction(async (sql) => {
    tries += 1
    await sql.run('INSERT INTO numbers VALUES (1)')
    if (tries > 1) return
    proxy.partition()
    hasTurn.resolve()
  })
  await hasTurn.promise
  await other.transaction((sql) => sql.run(SMALL))
  proxy.heal()
  await loaded
  const [counted] = await other.rows('SELECT count(*) AS rows, count(*) FILTER (n = 1) AS loaded FROM numbers')
  expect(counted).toEqual({ rows: 2, loaded: 1 })
})

it('two loaders that add columns to different reports at the same time repeat nothing', async () => {
  await using folder = await aFolder()
  const data = `${join(folder.path, 'files')}/`
  const at = await postgres.newDatabase()
  const lake = { catalogue: 'postgres', at, data, extensions: extensionsFolder() } as const
  const lost: string[] = []
  const open = async (path: string): Promise<OpenWarehouse> => {
    const around = async <T>(sql: string, run: () => Promise<T>) => {
      if (sql === 'ROLLBACK') lost.push(path)
      return await run()
    }
    const warehouse = await Warehouse.open({ lake, path, memory: '256MB', threads: 1, around })
    return { warehouse, folder: folder.path, path, [Symbol.asyncDispose]: () => warehouse.close() }
  }
  const [one, two] = await Promise.all([open(join(folder.path, 'one')), open(join(folder.path, 'two'))])
  await using _one = one
  await using _two = two
  await Promise.all([
    loadRows(one, reportOf('events'), [{ eventId: 1, found: 'text' }]),
    loadRows(two, reportOf('enquiries'), [{ enquiryId: 1, found: 'text' }]),
  ])
  expect(lost).toEqual([])
  const counted = `SELECT (SELECT count(found) FROM events) + (SELECT count(found) FROM enquiries) AS found, count(*) AS loads FROM tidemark.loads`
  expect(await one.warehouse.rows(counted)).toEqual([{ found: 2, loads: 2 }])
})

it('a loader that waits for its turn stops when it is interrupted, while the turn of the other one continues', async () => {
  await using lake = await aLake([undefined, undefined], await postgres.newDatabase())
  const [busy, waiting] = lake.loaders
  const hasTurn = Promise.withResolvers<void>()
  const mayEnd = Promise.withResolvers<void>()
  const held = busy.transaction(async (sql) => {
    await sql.run(SMALL)
    hasTurn.resolve()
    await mayEnd.promise
  })
  await hasTurn.promise
  const stopped = waiting.transaction((sql) => sql.run(SMALL)).catch((error: unknown) => error)
  using _ = repeat(100, systemClock, () => waiting.interrupt())
  expect(await stopped).toMatchObject({ code: 'CANCELLED' })
  mayEnd.resolve()
  await held
  expect(await busy.rows('SELECT count(*) AS rows FROM numbers')).toEqual([{ rows: 1 }])
})

it('a commit that cannot reach the catalogue fails with a clear error, without the password', async () => {
  const at = await postgres.newDatabase()
  await using proxy = await startProxy(portOf(at))
  await using lake = await aLake([proxy.port], `${at} password=hunter2`)
  const [loader] = lake.loaders
  await proxy[Symbol.asyncDispose]()
  const error = await loader.transaction((sql) => sql.run(SMALL)).catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({ code: 'LAKE_BUSY', message: expect.stringContaining('cannot be reached') })
  expect(inspect(error, { depth: 9 })).not.toContain('hunter2')
})

it.runIf(mayLosePackets())(
  'a loader whose network is silent fails with a clear error while the network is silent, and loads later',
  async () => {
    const at = await postgres.newDatabase()
    await using proxy = await startProxy(portOf(at))
    await using lake = await aLake([proxy.port], at)
    const [loader] = lake.loaders
    const insert = (during?: () => void) =>
      loader.transaction(async (sql) => {
        await sql.run('INSERT INTO numbers VALUES (1)')
        during?.()
      })
    const lost = { code: 'LAKE_BUSY', message: expect.stringContaining('cannot be reached') }
    // Before the commit, and before the first statement.
    await expect(insert(() => proxy.losePackets())).rejects.toMatchObject(lost)
    await expect(insert()).rejects.toMatchObject(lost)
    proxy.heal()
    await insert()
    expect(await loader.rows('SELECT n FROM numbers')).toEqual([{ n: 1 }])
  },
)

it('a process that froze in the middle of a commit blocks the others for seconds only', async () => {
  const at = await postgres.newDatabase()
  await using lake = await aLake([undefined, undefined], at)
  const [one, two] = lake.loaders
  await one.transaction((sql) => sql.run(SMALL))
  const frozen = new Client({ connectionString: postgres.url.replace(/postgres$/, /dbname=(\w+)/.exec(at)?.[1] ?? '') })
  frozen.on('error', () => undefined)
  await frozen.connect()
  // The first statement of DuckLake's commit. Every other commit needs the same number, so it waits.
  await frozen.query(`BEGIN; INSERT INTO ducklake_snapshot
    SELECT snapshot_id + 1, now(), schema_version, next_catalog_id, next_file_id FROM ducklake_snapshot
    ORDER BY snapshot_id DESC LIMIT 1`)
  await two.transaction((sql) => sql.run(SMALL))
  await expect(frozen.query('COMMIT')).rejects.toThrow()
  expect(await one.rows('SELECT count(*) AS rows FROM numbers')).toEqual([{ rows: 2 }])
})

it('commits go on after the catalogue was restarted, and one that was in the middle is repeated', async () => {
  await using lake = await aLake([undefined, undefined], await postgres.newDatabase())
  const [one, two] = lake.loaders
  let tries = 0
  await one.transaction(async (sql) => {
    tries += 1
    await sql.run('INSERT INTO numbers VALUES (1)')
    if (tries === 1) await postgres.restart()
  })
  await two.transaction((sql) => sql.run('INSERT INTO numbers VALUES (2)'))
  expect(await one.rows('SELECT n FROM numbers ORDER BY n')).toEqual([{ n: 1 }, { n: 2 }])
})
