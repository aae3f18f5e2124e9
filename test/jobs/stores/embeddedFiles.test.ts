/** The files of the embedded queue: PGlite has nobody who looks after them, and a worker runs for months. */
import { execFile } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { lockDirectory } from '../../../jobs/stores/embeddedStore.ts'
import { EmbeddedPool } from '../../../jobs/stores/embeddedPool.ts'
import { systemClock } from '../../../src/clock.ts'
import { copyEmbeddedStore } from '../../support/templates.ts'
import { GIVE_UP, handOver, saidUnprivileged } from '../../support/unprivileged.ts'

const execute = promisify(execFile)
const OPEN_ONCE = fileURLToPath(new URL('openOnce.ts', import.meta.url))
/** A new queue alone takes many seconds on a busy machine. */
const LONG = { timeout: 300_000 }

/** Timers ring when the test says so. */
function aBell() {
  const actions: (() => void)[] = []
  const after = (_: number, action: () => void) => {
    actions.push(action)
    return () => undefined
  }
  return { clock: { ...systemClock, after }, ring: () => actions.splice(0).forEach((action) => action()) }
}

const failed = (error: unknown) => {
  throw error
}

it('what the embedded queue logs of its writes stays small however long it runs', {
  ...LONG,
  tags: 'long',
}, async () => {
  const directory = await mkdtemp(join(tmpdir(), 'tidemark-embedded-'))
  const { clock, ring } = aBell()
  const pool = await EmbeddedPool.open({ directory, schema: 'tide', clock, onError: failed })
  await pool.query('CREATE TABLE jobs (id integer, data text)')
  const logs: number[] = []
  for (let day = 1; day <= 2; day += 1) {
    for (let hour = 1; hour <= 8; hour += 1) {
      await pool.query('INSERT INTO jobs SELECT n, repeat(md5(n::text), 40) FROM generate_series(1, 10000) n')
      await pool.query('DELETE FROM jobs')
    }
    ring()
    // They come behind what the timer asked for.
    for (let turns = 1; turns <= 5; turns += 1) await pool.query('SELECT 1')
    logs.push((await readdir(join(directory, 'pg_wal'))).filter((name) => /^[0-9A-F]{24}$/.test(name)).length)
  }
  await pool.end()
  await rm(directory, { recursive: true })
  // Each is 16 MiB, and a day fills seven of them.
  expect(Math.max(...logs)).toBeLessThanOrEqual(12)
})

it('the folder of the embedded queue is closed to other users, also one that existed before', {
  ...LONG,
  tags: 'long',
}, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-embedded-'))
  const directory = join(folder, 'queue')
  const settings = { directory, schema: 'tide', clock: systemClock, onError: failed }
  const modeAfterOpening = async () => {
    const pool = await EmbeddedPool.open(settings)
    await pool.end()
    return ((await stat(directory)).mode & 0o777).toString(8)
  }
  expect(await modeAfterOpening()).toBe('700')
  await chmod(directory, 0o755)
  expect(await modeAfterOpening()).toBe('700')
  await rm(folder, { recursive: true })
})

it(
  'a first start that was killed leaves no partial database: the next start creates a whole one',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'tidemark-embedded-'))
    const directory = join(folder, 'queue')
    await mkdir(`${directory}.new`)
    await writeFile(join(`${directory}.new`, 'PG_VERSION'), '18\n')
    const pool = await EmbeddedPool.open({ directory, schema: 'tide', clock: systemClock, onError: failed })
    const { rows } = await pool.query('SELECT 1 AS one')
    await pool.end()
    expect(rows).toEqual([{ one: 1 }])
    expect(await readdir(folder)).toEqual(['queue'])
    await rm(folder, { recursive: true })
  },
  LONG.timeout,
)

it('PostgreSQL in the worker needs little memory, also where it is created', LONG, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-embedded-'))
  const { stdout } = await execute(process.execPath, [OPEN_ONCE, join(folder, 'queue')])
  await rm(folder, { recursive: true })
  // 700 to 1,100 MB with V8's optimizing compiler, and 540 MB where `initdb` creates the database.
  expect(Number(stdout)).toBeGreaterThan(100)
  expect(Number(stdout)).toBeLessThan(400)
})

const closed = (queue: string) => ['.holder', '.lock', '.lock-journal'].map((end) => [`${queue}${end}`, 0o600])

it('no other user may read who has the embedded queue open, also where the files existed before', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-embedded-'))
  const modesOf = async (queue: string) => {
    using _ = lockDirectory(join(folder, queue))
    const names = (await readdir(folder)).filter((name) => name.startsWith(queue))
    // Awaited here: the release at the end of this function removes the journal.
    return await Promise.all(
      names.toSorted().map(async (name) => [name, (await stat(join(folder, name))).mode & 0o777]),
    )
  }
  expect(await modesOf('new')).toEqual(closed('new'))
  for (const end of ['.holder', '.lock']) {
    await writeFile(join(folder, `old${end}`), '')
    await chmod(join(folder, `old${end}`), 0o644)
  }
  expect(await modesOf('old')).toEqual(closed('old'))
  await rm(folder, { recursive: true })
})

const OPEN_STORE = new URL('../../../jobs/stores/openStore.ts', import.meta.url).href
const CLOCK = new URL('../../../src/clock.ts', import.meta.url).href

/** Opens the queue as a user who owns nothing. Returns the error that this user sees. */
async function saidOf(directory: string): Promise<unknown> {
  const said = await saidUnprivileged(`
    import { openStore } from ${JSON.stringify(OPEN_STORE)}
    import { systemClock } from ${JSON.stringify(CLOCK)}
    ${GIVE_UP}
    const opened = openStore('embedded', { directory: ${JSON.stringify(directory)}, clock: systemClock })
    const outcome = await opened.then((store) => store.close(), ({ code, message, cure }) => ({ code, message, cure }))
    console.log(JSON.stringify(outcome ?? 'opened'))`)
  return JSON.parse(said)
}

const isRoot = process.getuid?.() === 0

it.each([
  // Whose folder it is may let itself in again.
  ...(isRoot ? [['folder', '']] : []),
  ['lock', '.lock'],
  ["holder's name", '.holder'],
])(
  'an embedded queue whose %s another user left is refused, with the name of what was left',
  { ...LONG, tags: 'long' },
  async (_, ending) => {
    const folder = await mkdtemp(join(tmpdir(), 'tidemark-embedded-'))
    const directory = join(folder, 'queue')
    await copyEmbeddedStore(directory)
    lockDirectory(directory)[Symbol.dispose]()
    await handOver(folder, 0o700)
    for (const each of ['', '.lock', '.holder']) {
      if (each !== ending) await handOver(directory + each, 0o700)
    }
    // As root leaves them: files that others may read, a folder that they may not.
    await chmod(directory + ending, ending === '' ? 0o700 : 0o444)
    const outcome = await saidOf(directory)
    await rm(folder, { recursive: true })
    expect(outcome).toEqual({
      code: 'WAREHOUSE_MISSING',
      message: expect.stringContaining(`${directory}${ending} cannot be opened or written: EACCES`) as string,
      cure: expect.stringContaining('perhaps root') as string,
    })
  },
)
