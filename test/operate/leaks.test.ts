/**
 * What fails leaves nothing behind. Each attempt fails a thousand times (twenty times in `npm test`), and slow ones fail
 * a hundred times; with fewer seeds, less often (repeats.ts). Afterwards no file, no link, no folder, no open file and no child process is left. A worker repeats
 * some of these attempts for months.
 */
import { once } from 'node:events'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { freePort } from '../support/programsOnPath.ts'
import { openNoticeBook } from '../../jobs/notify/memory.ts'
import type { JobQueues } from '../../jobs/queue/jobQueues.ts'
import { lockDirectory } from '../../jobs/stores/embeddedStore.ts'
import { openStore } from '../../jobs/stores/openStore.ts'
import { reportNames, reportOf } from '../../schema/index.ts'
import { systemClock } from '../../src/clock.ts'
import { type Config, loadConfig } from '../../src/config/config.ts'
import type { AllSettings, ConsoleBackend } from '../../src/console/backend.ts'
import { openConsole } from '../../src/console/console.ts'
import { SyncError } from '../../src/errors.ts'
import { createLog } from '../../src/log.ts'
import { askSocket, listenAt } from '../../src/operations/socket.ts'
import { verifyReports } from '../../src/operations/verifyReports.ts'
import { copyShower } from '../../src/reader/attachedCopies.ts'
import { openReader } from '../../src/reader/reader.ts'
import { scanPage } from '../../src/staging/scanPage.ts'
import { Spool } from '../../src/staging/spool.ts'
import { Database } from '../../src/warehouse/database/duckdb.ts'
import { exportTo } from '../../src/warehouse/publish/export.ts'
import { copyInto } from '../../src/warehouse/publish/publish.ts'
import { openContext, openWarehouse } from '../../src/wiring/openContext.ts'
import { openNewest, openPublished } from '../../src/wiring/published.ts'
import { REQUIRED_ENV } from '../config/folder.ts'
import { repetitions } from '../support/repeats.ts'
import { copyWarehouse } from '../support/templates.ts'
import { catalogOf } from '../../src/staging/catalog.ts'
import { aFolder, NOON, pageBytes } from '../support/warehouse.ts'

const { TMPDIR } = process.env
const NODE = process.execPath

/** The folder of a test. Temporary files are in it too. */
let folder: string
/** What a test has opened. It is closed after the test. */
let opened: AsyncDisposableStack

beforeEach(async () => {
  opened = new AsyncDisposableStack()
  folder = opened.use(await aFolder()).path
  process.env['TMPDIR'] = folder
})
afterEach(async () => {
  if (TMPDIR === undefined) delete process.env['TMPDIR']
  else process.env['TMPDIR'] = TMPDIR
  process.execPath = NODE
  await opened.disposeAsync()
})

const log = createLog({ level: 'silent' })
const signal = new AbortController().signal
const memory = '64MB'
const at = (name: string): string => join(folder, name)

const configOf = (env: Readonly<Record<string, string>> = {}): Promise<Config> =>
  loadConfig({ env: { ...REQUIRED_ENV, TIDEMARK_WAREHOUSE: at('warehouse.duckdb'), ...env }, cwd: folder })

const damaged = async (path: string) => writeFile(path, Buffer.alloc(100_000, 'no database'))

/** Writes a small database. Without statements, its layout is that of a newer Tidemark. */
async function small(path: string, ...statements: string[]): Promise<void> {
  await using database = await Database.open(path, { memory })
  await database.run('CREATE SCHEMA tidemark')
  await database.run('CREATE TABLE tidemark.layout AS SELECT 99 AS version')
  for (const sql of statements) await database.run(sql)
}

/** An attempt that must fail, and the code of its error. Errors of Node have codes too. */
type Attempt = readonly [code: string, attempt: () => Promise<unknown>]

type Case = readonly [what: string, prepare: () => Promise<Attempt>]

/** What a process has: the paths below the folder, its open files, and its child processes. */
interface Belongings {
  readonly paths: readonly string[]
  readonly files: readonly string[]
  readonly children: readonly string[]
}

function belongings(): Belongings {
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' }).toSorted()
  // The listing opens a file itself, which is closed when its link is read.
  const files = readdirSync('/proc/self/fd').flatMap((each) => linkOf(`/proc/self/fd/${each}`))
  const tasks = readdirSync('/proc/self/task')
  const children = tasks.flatMap((task) => readFileSync(`/proc/self/task/${task}/children`, 'utf8').match(/\d+/g) ?? [])
  return { paths, files: files.map((each) => each.replace(/:\[\d+\]$/, '')).toSorted(), children }
}

function linkOf(path: string): string[] {
  try {
    return [readlinkSync(path)]
  } catch {
    return []
  }
}

/** Returns what `now` has in addition to `before`. */
function added(before: Belongings, now: Belongings): string[] {
  return (['paths', 'files', 'children'] as const).flatMap((kind) => {
    const left = [...before[kind]]
    return now[kind].flatMap((each) => {
      const index = left.indexOf(each)
      if (index < 0) return [`${kind}: ${each}`]
      left.splice(index, 1)
      return []
    })
  })
}

/** Pipes and children of a process that was killed end a moment later. */
const PATIENCE_MS = 10_000

/** Repeats the failing attempt `times` times. Returns what is left afterwards. The first two attempts load modules and start threads. */
async function leftBy([code, attempt]: Attempt, times: number): Promise<string[]> {
  const fail = async () => {
    const error: unknown = await attempt().then(
      () => new TypeError('it succeeded'),
      (thrown: unknown) => thrown,
    )
    if ((error as { code?: unknown }).code !== code) throw error
  }
  const { paths } = belongings()
  await fail()
  await fail()
  const before = { ...belongings(), paths }
  for (let time = 0; time < times; time += 1) await fail()
  const endMs = systemClock.monotonicMs() + PATIENCE_MS
  while (added(before, belongings()).length > 0 && systemClock.monotonicMs() < endMs) await systemClock.sleep(20)
  return added(before, belongings())
}

const CASES: readonly Case[] = [
  [
    'opening a published copy that is damaged',
    async () => {
      const config = await configOf()
      await damaged(config.published)
      return ['WAREHOUSE_CORRUPT', () => openPublished(config)]
    },
  ],
  [
    'opening a published copy that is missing',
    async () => {
      const config = await configOf()
      return ['WAREHOUSE_MISSING', () => openPublished(config)]
    },
  ],
  [
    'opening a published copy of an unknown version',
    async () => {
      const config = await configOf()
      await small(config.published)
      return ['WAREHOUSE_NEWER', () => openPublished(config)]
    },
  ],
  [
    'reading a warehouse that is damaged',
    async () => {
      const config = await configOf()
      await damaged(config.warehouse)
      return ['WAREHOUSE_CORRUPT', () => openNewest(config)]
    },
  ],
  [
    'opening a warehouse that is damaged',
    async () => {
      const config = await configOf()
      await damaged(config.warehouse)
      return ['WAREHOUSE_CORRUPT', () => openContext(config, { clock: systemClock, signal, log })]
    },
  ],
  [
    'opening a warehouse of a newer layout',
    async () => {
      const config = await configOf()
      await small(config.warehouse)
      return ['WAREHOUSE_NEWER', () => openContext(config, { clock: systemClock, signal, log })]
    },
  ],
  [
    'opening a warehouse whose path is a folder',
    async () => {
      const config = await configOf()
      await mkdir(config.warehouse)
      return ['WAREHOUSE_MISSING', () => openWarehouse(config)]
    },
  ],
  [
    'opening a database with a setting that DuckDB refuses',
    async () => {
      await small(at('some.duckdb'))
      return ['UNEXPECTED', () => Database.open(at('some.duckdb'), { memory, disk: 'much' })]
    },
  ],
  [
    'attaching a published copy that is damaged',
    async () => {
      await damaged(at('published.duckdb'))
      return ['WAREHOUSE_CORRUPT', (await someCopies()).show]
    },
  ],
  [
    'showing a published copy whose tables have no place',
    async () => {
      const { database, show } = await someCopies()
      await small(at('published.duckdb'), 'CREATE TABLE events (n INTEGER)')
      await database.run('CREATE TABLE memory.main.events (n INTEGER)')
      return ['UNEXPECTED', show]
    },
  ],
  [
    'staging rows where a file cannot be made',
    async () => {
      const report = reportOf('enquiries')
      const catalog = catalogOf(report)
      const plan = { answer: report.answer, key: ['enquiryId'], catalog, numberPrefix: '~' }
      const page = () => scanPage(pageBytes(report, [{ enquiryId: 1 }]), plan)
      const stage = async () => {
        await mkdir(at('spool/segment-0.ndjson'), { recursive: true })
        await using spool = new Spool(at('spool'), catalog, { loadRowsMax: 1, loadBytesMax: 1 })
        await spool.add(page(), { observedAt: NOON, askedAt: NOON })
      }
      return ['WAREHOUSE_MISSING', stage]
    },
  ],
  [
    'exporting to a folder whose marker cannot be written',
    async () => {
      await mkdir(at('export/.tidemark-export'), { recursive: true })
      await copyWarehouse(at('published.duckdb'))
      const database = opened.use(await Database.open(at('published.duckdb'), { memory, readOnly: true }))
      return ['EXPORT_FAILED', () => exportTo(database, { to: at('export'), reports: reportNames, now: NOON })]
    },
  ],
  [
    'writing notices to a file that is a folder',
    async () => {
      await mkdir(at('w.notices.json/in-the-way'), { recursive: true })
      const attempt = async () => {
        await (await openNoticeBook(at('w'))).save()
        throw new SyncError('UNEXPECTED', 'as nothing was written', { cure: '' })
      }
      return ['UNEXPECTED', attempt]
    },
  ],
  [
    'locking the directory of a queue that is locked',
    async () => {
      opened.use(lockDirectory(at('queue')))
      return ['QUEUE_LOCKED', async () => lockDirectory(at('queue'))]
    },
  ],
  [
    'connecting to a Redis that is not there',
    async () => {
      const port = await freePort()
      const open = () => openStore(`redis://127.0.0.1:${port}`, { directory: '', clock: systemClock })
      return ['QUEUE_UNREACHABLE', open]
    },
  ],
  [
    'asking a worker that is not there',
    async () => {
      const caller = { by: 'a test', onEvent: () => undefined, signal }
      return ['WORKER_LOST', () => askSocket({ path: at('socket'), clock: systemClock }, { do: 'status' }, caller)]
    },
  ],
  [
    'listening at a socket whose path is too long',
    async () => {
      const socket = join(at('control'), 'x'.repeat(200))
      return ['EINVAL', () => listenAt(socket, { answer: () => Promise.reject(new TypeError('nobody asks')) })]
    },
  ],
  [
    'opening a console whose port is taken',
    async () => {
      const server = createServer().listen(0, '127.0.0.1')
      opened.defer(() => void server.close())
      await once(server, 'listening')
      const { port } = server.address() as AddressInfo
      return ['CONSOLE_PORT_TAKEN', () => openConsole({ ...CONSOLE, port })]
    },
  ],
  [
    'starting a reader process whose program is missing',
    async () => {
      await small(at('published.duckdb'))
      process.execPath = at('missing')
      return ['QUERY_FAILED', readOnce]
    },
  ],
  [
    'starting a reader process that the system refuses',
    async () => {
      await small(at('published.duckdb'))
      process.execPath = 'x'.repeat(ARGUMENT_BYTES_MAX)
      return ['E2BIG', readOnce]
    },
  ],
]

/** Cases that start a process or create a warehouse in each attempt. */
const SLOW_CASES: readonly Case[] = [
  [
    'opening a warehouse without a place for staged rows',
    async () => {
      await writeFile(at('file'), '')
      const config = { ...(await configOf()), staging: at('file/staging') }
      await copyWarehouse(config.warehouse)
      return ['WAREHOUSE_MISSING', () => openWarehouse(config)]
    },
  ],
  [
    'verifying a published copy that is damaged',
    async () => {
      const config = await configOf()
      await damaged(config.published)
      const request = { reports: reportNames, from: undefined, to: undefined }
      const context = { config, clock: systemClock, signal, log, onProgress: () => undefined }
      return ['WAREHOUSE_CORRUPT', () => verifyReports(request, context)]
    },
  ],
  [
    'publishing to a path that is a folder',
    async () => {
      await small(at('warehouse.duckdb'))
      await mkdir(at('published.duckdb/in-the-way'), { recursive: true })
      return ['PUBLISH_FAILED', () => copyInto(at('warehouse.duckdb'), at('published.duckdb'))]
    },
  ],
  [
    'reading a published copy that is damaged in a reader process',
    async () => {
      await damaged(at('published.duckdb'))
      return ['WAREHOUSE_CORRUPT', readOnce]
    },
  ],
]

/** Linux refuses to start a program with a longer argument. */
const ARGUMENT_BYTES_MAX = 131_072

/** Runs a statement on the published copy in a reader process of its own. */
async function readOnce(): Promise<unknown> {
  await using reader = openReader({
    published: at('published.duckdb'),
    limits: { queryMemory: memory, queryDisk: memory, queryTimeMs: 60_000 },
  })
  return await reader.query('SELECT 1', () => Promise.resolve(true))
}

const nobody = () => {
  throw new TypeError('nobody asks')
}
const backend: ConsoleBackend = {
  isOwner: true,
  answer: nobody,
  books: { rows: nobody },
  standings: nobody,
  running: () => [],
  begun: () => 0,
}
const CONSOLE = {
  host: '127.0.0.1',
  version: '0',
  clock: systemClock,
  log,
  queues: {} as JobQueues,
  settings: {} as AllSettings,
  runLogs: '/nowhere',
  editedKeys: () => Promise.resolve([]),
  receiversBehind: () => Promise.resolve([]),
  openChanges: () => Promise.reject(new Error('not asked for here')),
  waitFor: () => Promise.resolve([]),
  newReader: () =>
    openReader({ published: '/nowhere', limits: { queryMemory: '64MB', queryDisk: '64MB', queryTimeMs: 1_000 } }),
  backendOf: () => backend,
  isReady: () => Promise.resolve(true),
}

/** A database in memory, and a function that shows the published copy in it, as the live server does. */
async function someCopies() {
  const database = opened.use(await Database.open(':memory:', { memory }))
  await mkdir(at('links'))
  return { database, show: copyShower(database, { published: at('published.duckdb'), folder: at('links') }) }
}

it.each(CASES)('%s fails twenty times and leaves nothing', async (_, prepare) => {
  expect(await leftBy(await prepare(), 20)).toEqual([])
})

it.each(SLOW_CASES)('%s fails three times and leaves nothing', async (_, prepare) => {
  expect(await leftBy(await prepare(), 1)).toEqual([])
})

/** Set TIDEMARK_TEST_FAILURES to 1000 to repeat the four slow cases as often, too. They then need half an hour. */
const SLOW_TIMES = Number(process.env['TIDEMARK_TEST_FAILURES'] ?? repetitions(100, 10))
const TIMES = repetitions(1_000, 150)
const LONG = { tags: 'long', timeout: 3_600_000 }

it.each(CASES)(`%s fails ${TIMES} times and leaves nothing`, LONG, async (_, prepare) => {
  expect(await leftBy(await prepare(), TIMES)).toEqual([])
})

it.each(SLOW_CASES)(`%s fails ${SLOW_TIMES} times and leaves nothing`, LONG, async (_, prepare) => {
  expect(await leftBy(await prepare(), SLOW_TIMES)).toEqual([])
})
