/** Opening a warehouse: its own, another program's, a newer one's, or no warehouse at all. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, statSync } from 'node:fs'
import {
  copyFile,
  link,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  symlink,
  truncate,
  utimes,
  writeFile,
} from 'node:fs/promises'
import { basename, join, relative } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { setImmediate } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { reports } from '../../schema/index.ts'
import { enquiries } from '../../schema/reports/enquiries.ts'
import { tableOf } from '../../schema/tables.ts'
import { SyncError } from '../../src/errors.ts'
import { DUCKDB_VERSION } from '../../src/config/crossChecks.ts'
import { START } from '../../src/warehouse/books/cursor.ts'
import { LAYOUT } from '../../src/warehouse/books/layout.ts'
import { Database } from '../../src/warehouse/database/duckdb.ts'
import { spillFolderOf } from '../../src/warehouse/database/warehouseFile.ts'
import { liveRows } from '../support/held.ts'
import { aSmallDisk, fill, mayMount, type SmallDisk } from '../support/smallDisk.ts'
import { aTide, type Tide } from '../support/tide.ts'
import { GIVE_UP, handOver, saidUnprivileged } from '../support/unprivileged.ts'
import { Warehouse } from '../../src/warehouse/warehouse.ts'
import { copyWarehouse } from '../support/templates.ts'
import { aFolder, aWarehouse, loadRows, openAt } from '../support/warehouse.ts'

const DATABASE = fileURLToPath(new URL('../../src/warehouse/database/duckdb.ts', import.meta.url))
const WAREHOUSE = fileURLToPath(new URL('../../src/warehouse/warehouse.ts', import.meta.url))
const LOCK = fileURLToPath(new URL('../../jobs/stores/embeddedStore.ts', import.meta.url))

async function refusalOf(path: string): Promise<SyncError> {
  const outcome = await openAt(path).catch((error: unknown) => error)
  if (outcome instanceof SyncError) return outcome
  throw new TypeError('it was opened', { cause: outcome })
}

/** A second process that has the file open until it is ended. */
async function aHolder(path: string): Promise<AsyncDisposable> {
  const program = `
    const { Database } = await import(${JSON.stringify(DATABASE)})
    const database = await Database.open(${JSON.stringify(path)}, { memory: '128MB' })
    await database.run('CREATE TABLE IF NOT EXISTS held (n INTEGER)')
    console.log('open')
    setInterval(() => database, 1000)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(child.stdout, 'data')
  return {
    [Symbol.asyncDispose]: async () => {
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
    },
  }
}

const OPENERS = 4
const ROUNDS = 6
/** So many processes, on a busy machine. */
const LONG = { timeout: 180_000 }

interface Openers extends AsyncDisposable {
  /** All of them open it at the same moment, and close it when each has told what it met. */
  open(path: string): Promise<string[]>
}

/** Processes that have come as far as to open a warehouse. */
async function severalOpeners(): Promise<Openers> {
  const program = `
    import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
    import { Warehouse } from ${JSON.stringify(WAREHOUSE)}
    let warehouse
    const tried = async (path, atMs) => {
      while (Date.now() < atMs);
      warehouse = await Warehouse.open({ path, memory: '128MB', threads: 1 })
      return 'open'
    }
    console.log('ready')
    for await (const line of createInterface(process.stdin)) {
      await warehouse?.close()
      warehouse = undefined
      const { path, atMs } = JSON.parse(line)
      console.log(path === undefined ? 'closed' : await tried(path, atMs).catch(({ code }) => code))
    }`
  const openers = Array.from({ length: OPENERS }, () => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    return { child, lines: createInterface(child.stdout)[Symbol.asyncIterator]() }
  })
  const said = () => Promise.all(openers.map(async ({ lines }) => String((await lines.next()).value)))
  const tell = (what: object) => {
    for (const { child } of openers) child.stdin.write(`${JSON.stringify(what)}\n`)
    return said()
  }
  await said()
  return {
    open: async (path) => {
      const met = await tell({ path, atMs: Date.now() + 50 })
      await tell({})
      return met
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(
        openers.map(async ({ child }) => {
          const ended = once(child, 'exit')
          child.kill('SIGKILL')
          await ended
        }),
      )
    },
  }
}

const CAN_MOUNT = await mayMount()

/** Copies the warehouse and its log to `path` after loads, as a killed owner leaves them. DuckDB spills in the replay. */
async function aKilledOwner(path: string): Promise<Tide> {
  const killed = await aTide()
  // The first COMMIT after a publication reserves memory for new rows, and so does the replay of its log.
  await killed.sync('events', 'enquiries')
  await killed.warehouse.publish(killed.config.published)
  killed.clock.pass(60_000)
  for (const report of ['events', 'enquiries'] as const)
    killed.sandbox.world.edit(report, killed.sandbox.world.liveKeys(report)[0] as number)
  await killed.sync('events', 'enquiries')
  for (const log of ['', '.wal']) await copyFile(`${killed.config.warehouse}${log}`, `${path}${log}`)
  return killed
}

/** Returns the modes that spill folders have until the opening has ended. */
async function spillModesDuring(opening: Promise<unknown>, folder: string): Promise<string[]> {
  const modes = new Set<string>()
  const ended = new AbortController()
  const end = () => ended.abort()
  opening.then(end, end)
  for (; !ended.signal.aborted; await setImmediate())
    for (const spill of readdirSync(folder).filter((each) => /spill-[^.]*$/.test(each)))
      modes.add(((statSync(join(folder, spill), { throwIfNoEntry: false })?.mode ?? 0o700) & 0o777).toString(8))
  return [...modes]
}

describe('a warehouse', () => {
  it('is made where there is none, folder and all, with every table of every report', async () => {
    await using folder = await aFolder()
    const path = join(folder.path, 'new', 'folder', 'warehouse.duckdb')
    await using warehouse = await openAt(path)
    const tables = await warehouse.rows<{ name: string }>(
      `SELECT table_name AS name FROM duckdb_tables() WHERE schema_name = 'main'`,
    )
    const expected = reports
      .map((report) => tableOf(report))
      .flatMap(({ name, children }) => [name, ...children.map((child) => child.name)])
    expect(tables.map(({ name }) => name).toSorted()).toEqual(expected.toSorted())
    expect(existsSync(path)).toBe(true)
  })

  it('is refused as one that cannot be opened where its path is a folder, or leads through a file', async () => {
    await using folder = await aFolder()
    const isFolder = join(folder.path, 'folder.duckdb')
    await mkdir(isFolder)
    await writeFile(join(folder.path, 'data'), 'a file')
    for (const [path, why] of [
      [isFolder, /folder\.duckdb is a folder$/],
      [join(folder.path, 'data/warehouse.duckdb'), /data cannot be made or written: EEXIST/],
      [join(folder.path, 'data/more/warehouse.duckdb'), /data\/more cannot be made or written: ENOTDIR/],
    ] as const) {
      const refused = await refusalOf(path)
      expect(refused).toMatchObject({ code: 'WAREHOUSE_MISSING', message: expect.stringMatching(why) })
    }
  })

  it('is refused, and so is its queue, where this user may not make its folder', async () => {
    await using folder = await aFolder()
    await handOver(folder.path, 0o500)
    const said = await saidUnprivileged(`
      import { lockDirectory } from ${JSON.stringify(LOCK)}
      import { Warehouse } from ${JSON.stringify(WAREHOUSE)}
      const [beside, below] = [${JSON.stringify(folder.path)}, ${JSON.stringify(join(folder.path, 'data'))}]
      const errors = []
      const tried = async (work) => errors.push(await work().then(() => 'nothing', ({ code, message, cure }) => ({ code, message, cure })))
      ${GIVE_UP}
      await tried(() => Warehouse.open({ path: below + '/w.duckdb', memory: '256MB' }))
      await tried(async () => lockDirectory(below + '/w.duckdb.queue'))
      await tried(async () => lockDirectory(beside + '/w.duckdb.queue'))
      console.log(JSON.stringify(errors))`)
    await handOver(folder.path, 0o700)
    const below = join(folder.path, 'data')
    const expected = [below, below, folder.path].map((at) => ({
      code: 'WAREHOUSE_MISSING',
      message: expect.stringContaining(`${at} cannot be made or written: `) as string,
      cure: expect.stringContaining('this user may write') as string,
    }))
    expect(JSON.parse(said)).toEqual(expected)
  })

  it('is made by one of several that open it together; the others meet its lock, no broken file', {
    ...LONG,
    tags: 'long',
  }, async () => {
    await using folder = await aFolder()
    await using openers = await severalOpeners()
    const met = new Map<string, number>()
    for (let round = 0; round < ROUNDS; round += 1) {
      const each = await openers.open(join(folder.path, `${round}.duckdb`))
      for (const end of each) met.set(end, (met.get(end) ?? 0) + 1)
    }
    expect(Object.fromEntries(met)).toEqual({ open: ROUNDS, WAREHOUSE_LOCKED: ROUNDS * (OPENERS - 1) })
    const left = (await readdir(folder.path)).filter((name) => !name.endsWith('.duckdb'))
    expect(left).toEqual([])
  })

  it('may be in memory', async () => {
    await using warehouse = await openAt(':memory:')
    expect(await liveRows({ warehouse }, 'events')).toBe(0)
  })

  it('is found again as it was left', async () => {
    await using opened = await aWarehouse()
    await loadRows(opened, enquiries, [{ enquiryId: 1, note: 'x' }])
    await opened.warehouse.close()
    for (let time = 0; time < 2; time += 1) {
      await using again = await openAt(opened.path)
      expect(await again.rows('SELECT enquiry_id, note FROM current.enquiries')).toEqual([{ enquiry_id: 1, note: 'x' }])
      expect(await again.rows('SELECT count(*) AS n FROM tidemark.layout')).toEqual([{ n: LAYOUT }])
    }
  })

  it('that is moved away or replaced while it is open loads nothing, publishes nothing, and its error has a cure', async () => {
    await using opened = await aWarehouse()
    const { warehouse, path } = opened
    await loadRows(opened, enquiries, [{ enquiryId: 1, note: 'kept' }])
    await warehouse.checkpoint()
    const lost = { code: 'WAREHOUSE_MISSING', cure: expect.stringContaining('Stop this process') as string }
    await rename(path, `${path}.moved`)
    const moved = { ...lost, message: expect.stringContaining('was moved away or removed') as string }
    await expect(loadRows(opened, enquiries, [{ enquiryId: 2 }])).rejects.toMatchObject(moved)
    await expect(warehouse.publish(`${path}.copy`)).rejects.toMatchObject(moved)
    await copyFile(`${path}.moved`, path)
    const replaced = { ...lost, message: expect.stringContaining('was replaced by another file') as string }
    await expect(loadRows(opened, enquiries, [{ enquiryId: 2 }])).rejects.toMatchObject(replaced)
    await expect(warehouse.checkpoint()).rejects.toMatchObject(replaced)
    await rename(`${path}.moved`, path)
    await loadRows(opened, enquiries, [{ enquiryId: 2, note: 'in its place again' }])
    expect(await liveRows({ warehouse }, 'enquiries')).toBe(2)
  })

  it('of a newer layout is refused and left as it is', async () => {
    await using opened = await aWarehouse()
    await opened.warehouse.rows('INSERT INTO tidemark.layout VALUES (99, now())')
    await opened.warehouse.close()
    expect(await refusalOf(opened.path)).toMatchObject({ code: 'WAREHOUSE_NEWER', data: { layout: 99 } })
    expect(await refusalOf(opened.path), 'the refusal let go of the file').toMatchObject({ code: 'WAREHOUSE_NEWER' })
  })

  it('that another process has open is refused, naming the process, and opens when that ends', async () => {
    await using folder = await aFolder()
    const path = join(folder.path, 'warehouse.duckdb')
    {
      await using _holder = await aHolder(path)
      const refusal = await refusalOf(path)
      expect(refusal).toMatchObject({ code: 'WAREHOUSE_LOCKED', retry: 'transient' })
      expect(refusal.message).toMatch(/PID \d+/)
      expect((await readdir(folder.path)).filter((each) => each.includes('spill'))).toEqual([])
    }
    await using warehouse = await openAt(path)
    expect(await liveRows({ warehouse }, 'events')).toBe(0)
  })

  it('that its own process has open is refused too, because closing it a second time would end the lock', async () => {
    await using opened = await aWarehouse()
    const locked = { code: 'WAREHOUSE_LOCKED', message: `${opened.path} is open in this process, by another call` }
    expect(await refusalOf(opened.path)).toMatchObject(locked)
    const read = () => Database.open(opened.path, { memory: '64MB', readOnly: true })
    await expect(read()).rejects.toMatchObject(locked)
    await opened.warehouse.close()
    {
      await using _one = await read()
      await using _two = await read()
      expect(await refusalOf(opened.path)).toMatchObject(locked)
    }
    await (await openAt(opened.path)).close()
  })

  it('that its own process has open is refused under any other path that leads to the same file', async () => {
    await using opened = await aWarehouse()
    const [byLink, byHardLink] = [join(opened.folder, 'link.duckdb'), join(opened.folder, 'hard.duckdb')]
    await symlink(basename(opened.path), byLink)
    await link(opened.path, byHardLink)
    for (const path of [
      byLink,
      byHardLink,
      relative(process.cwd(), opened.path),
      `${opened.folder}/./warehouse.duckdb`,
    ])
      expect(await refusalOf(path), path).toMatchObject({ code: 'WAREHOUSE_LOCKED' })
    // A new file has no inode yet when its opening begins.
    const made = join(opened.folder, 'new.duckdb')
    await using _new = await Database.open(made, { memory: '64MB' })
    await symlink('new.duckdb', `${made}.link`)
    expect(await refusalOf(`${made}.link`)).toMatchObject({ code: 'WAREHOUSE_LOCKED' })
  })

  it.each<[string, (path: string) => Promise<void>]>([
    ['random bytes', (path) => writeFile(path, Buffer.alloc(100_000, 'random bytes, as it were'))],
    ['a few bytes', (path) => writeFile(path, 'no database')],
    [
      'a page of another program',
      (path) => writeFile(path, Buffer.concat([Buffer.from('SQLite format 3\0'), Buffer.alloc(20_000)])),
    ],
  ])('that is %s is corrupt, and not touched', async (_, make) => {
    await using folder = await aFolder()
    const path = join(folder.path, 'warehouse.duckdb')
    await make(path)
    const before = await readFile(path)
    const refusal = await refusalOf(path)
    expect(`${refusal.code}: ${refusal.message}`).toMatch(/^WAREHOUSE_CORRUPT/)
    expect((await readFile(path)).equals(before)).toBe(true)
  })

  it.each([5_000, 20_000, 300_000])(
    'that was cut after %i bytes is corrupt, and not touched',
    { tags: 'long' },
    async (length) => {
      await using opened = await aWarehouse()
      await loadRows(
        opened,
        enquiries,
        Array.from({ length: 20_000 }, (_, n) => ({ enquiryId: n, note: `note ${n * 7919}` })),
      )
      await opened.warehouse.close()
      await truncate(opened.path, length)
      const before = await readFile(opened.path)
      const refusal = await refusalOf(opened.path)
      expect(`${refusal.code}: ${refusal.message}`).toMatch(/^WAREHOUSE_CORRUPT/)
      expect((await readFile(opened.path)).equals(before)).toBe(true)
    },
  )

  it.each([
    { of: 'another file', isItsOwn: false },
    { of: 'what it was before', isItsOwn: true },
  ])('that has the log of writes of $of beside it names it, and opens once that is gone', async ({ isItsOwn }) => {
    await using before = await aWarehouse()
    await loadRows(before, enquiries, [{ enquiryId: 1 }])
    await using folder = await aFolder()
    const path = join(folder.path, 'warehouse.duckdb')
    await copyFile(`${before.path}.wal`, `${path}.wal`)
    await before.warehouse.close()
    await using another = await aWarehouse({ ownIdentity: true })
    await another.warehouse.close()
    await copyFile(isItsOwn ? before.path : another.path, path)
    const refusal = await refusalOf(path)
    expect(refusal.code).toBe('WAREHOUSE_CORRUPT')
    expect(refusal.message).toContain(`${path}.wal do not belong together`)
    expect(refusal.cure).toContain(`move ${path}.wal away`)
    await rename(`${path}.wal`, `${path}.left`)
    await using warehouse = await openAt(path)
    expect(await liveRows({ warehouse }, 'enquiries')).toBe(isItsOwn ? 1 : 0)
  })

  it('keeps what DuckDB spills while it replays the log of a killed owner, in a folder that is always private', async () => {
    await using folder = await aFolder()
    const path = join(folder.path, 'warehouse.duckdb')
    await using killed = await aKilledOwner(path)
    const opening = Warehouse.open({ path, memory: '40MB', threads: 1 })
    const modes = await spillModesDuring(opening, folder.path)
    await using warehouse = await opening
    expect(modes).toEqual(['700'])
    const [spill = ''] = (await readdir(folder.path)).filter((each) => each.startsWith('warehouse.duckdb.spill'))
    expect(await readdir(join(folder.path, spill))).not.toEqual([])
    await warehouse.rows('CHECKPOINT')
    expect(await liveRows({ warehouse }, 'enquiries')).toBe(await liveRows(killed, 'enquiries'))
  })

  it.skipIf(!CAN_MOUNT)(
    'removes what a killed owner had spilled, although it fills the disk and DuckDB would spill while it replays the log',
    { tags: 'long' },
    async () => {
      await using disk = (await aSmallDisk(32)) as SmallDisk
      const path = join(disk.path, 'warehouse.duckdb')
      await using killed = await aKilledOwner(path)
      await mkdir(`${path}.spill-of-a-killed-one`)
      await fill(`${path}.spill-of-a-killed-one/rows`)
      await using warehouse = await Warehouse.open({ path, memory: '40MB', threads: 1 })
      expect((await readdir(disk.path)).filter((each) => each.includes('.spill'))).toHaveLength(1)
      expect(await liveRows({ warehouse }, 'enquiries')).toBe(await liveRows(killed, 'enquiries'))
    },
  )

  it('replays a log that needs more memory than its limit, because the killed owner had raised the limit', async () => {
    await using folder = await aFolder()
    const path = join(folder.path, 'warehouse.duckdb')
    await using killed = await aWarehouse()
    await killed.warehouse.rows('CREATE TABLE t AS SELECT range AS n FROM range(6_000_000)')
    await killed.warehouse.checkpoint()
    // DuckDB keeps in memory which rows of each vector are deleted: here more than 40 MB.
    await killed.warehouse.rows('DELETE FROM t WHERE n % 2_048 < 2')
    for (const log of ['', '.wal']) await copyFile(`${killed.path}${log}`, `${path}${log}`)
    await using warehouse = await Warehouse.open({ path, memory: '40MB', threads: 1 })
    expect(await warehouse.rows('SELECT count(*)::INTEGER AS n FROM t')).toEqual([{ n: 5_994_140 }])
  })

  it('clears away what a killed owner had spilled, and leaves nothing when it is closed', {
    tags: 'long',
  }, async () => {
    await using folder = await aFolder()
    const path = join(folder.path, 'warehouse.duckdb')
    const left = `${path}.spill-of-a-killed-one`
    await mkdir(left, { recursive: true })
    await writeFile(`${left}/duckdb_temp_storage_DEFAULT-0.tmp`, 'rows')
    const spilled = async () => (await readdir(folder.path)).filter((each) => each.includes('.spill'))
    await copyWarehouse(path)
    const warehouse = await Warehouse.open({ path, memory: '100MB', threads: 1 })
    expect(await spilled()).toHaveLength(1)
    // More than memory holds: it spills, and what it spilled can be read.
    await warehouse.rows(
      `CREATE TEMP TABLE large AS SELECT md5(i::VARCHAR) || md5((-i)::VARCHAR) AS text FROM range(2_500_000) t(i)`,
    )
    expect(await spilled()).toHaveLength(1)
    expect(await warehouse.rows('SELECT count(text)::INTEGER AS texts FROM large')).toEqual([{ texts: 2_500_000 }])
    await warehouse.close()
    expect(await spilled()).toEqual([])
  })
})

it('a process of a lake removes what was spilled beside it after a day, and keeps younger folders', async () => {
  await using folder = await aFolder()
  const path = join(folder.path, 'lake.sqlite')
  for (const name of ['dead', 'living']) await mkdir(`${path}.spill-${name}`, { recursive: true })
  await utimes(`${path}.spill-dead`, 1, 1)
  const spill = spillFolderOf(path)
  const own = basename(spill.own)
  await spill.create({ isAlone: false })
  expect((await readdir(folder.path)).toSorted()).toEqual([own, 'lake.sqlite.spill-living'].toSorted())
  await rm(spill.own, { recursive: true })
  await spill.keep()
  await spill.create({ isAlone: true })
  expect(await readdir(folder.path)).toEqual([own])
})

it('views, functions and comments are written again only by another version of the program', async () => {
  await using folder = await aFolder()
  const path = join(folder.path, 'warehouse.duckdb')
  const opened = async (before: string) => {
    await using warehouse = await openAt(path)
    await warehouse.rows(before)
  }
  await opened(`CREATE OR REPLACE MACRO tidemark.current_cursor() AS 'changed by hand'`)
  const definitions: string[] = []
  const around = <T>(sql: string, run: () => Promise<T>): Promise<T> => {
    definitions.push(...sql.matchAll(/CREATE (?:OR REPLACE )?\w+|COMMENT ON/g).map(([what]) => what))
    return run()
  }
  await using same = await Warehouse.open({ path, memory: '256MB', around })
  expect(definitions).toEqual([])
  expect(await same.rows('SELECT tidemark.current_cursor() AS cursor')).toEqual([{ cursor: 'changed by hand' }])
  await same.close()
  await opened(`UPDATE tidemark.settings SET value = 'another version' WHERE name = 'definitions'`)
  await using other = await Warehouse.open({ path, memory: '256MB', around })
  expect(definitions).toContain('CREATE OR REPLACE MACRO')
  expect(await other.rows('SELECT tidemark.current_cursor() AS cursor')).toEqual([{ cursor: START }])
})

it('a move into a lake removes what killed moves have spilled, and no folder of another lake in the same place', async () => {
  await using folder = await aFolder()
  // All lakes in PostgreSQL whose settings are in one folder have this path.
  const path = join(folder.path, 'lake')
  const other = spillFolderOf(path)
  await other.create({ isAlone: false })
  const killed = spillFolderOf(path, true)
  await killed.create({ isAlone: false })
  const move = spillFolderOf(path, true)
  await move.create({ isAlone: true })
  expect((await readdir(folder.path)).toSorted()).toEqual([basename(other.own), basename(move.own)].toSorted())
})

it('a link that leads to itself beside the warehouse prevents nothing', async () => {
  await using folder = await aFolder()
  await symlink('loop', join(folder.path, 'loop'))
  await using warehouse = await openAt(join(folder.path, 'warehouse.duckdb'))
  expect(await liveRows({ warehouse }, 'events')).toBe(0)
})

it('a missing extension is named with the version of DuckDB that it must have', async () => {
  await using warehouse = await Warehouse.open({ path: ':memory:', memory: '64MB' })
  expect(await warehouse.rows('SELECT version() AS version')).toEqual([{ version: `v${DUCKDB_VERSION}` }])
})

it('a database that closes finishes queued statements, refuses new ones, and ends no process', {
  tags: 'long',
}, async () => {
  const program = `
    const { Database } = await import(${JSON.stringify(DATABASE)})
    const ask = (database) => database.rows('SELECT sum(i * 2) AS n FROM range(10000000) t(i)')
    for (let round = 0; round < 5; round += 1) {
      const database = await Database.open(':memory:', { memory: '128MB' })
      const before = ask(database)
      const closed = database.close()
      const meanwhile = ask(database).then(() => 'done', ({ code }) => code)
      console.log((await before).length, await meanwhile)
      await closed
    }`
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [said, [code, signal]] = await Promise.all([text(child.stdout), once(child, 'exit')])
  expect({ said, code, signal }).toEqual({ said: '1 CANCELLED\n'.repeat(5), code: 0, signal: null })
})
