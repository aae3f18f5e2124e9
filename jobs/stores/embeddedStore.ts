/** Runs BullMQ on PGlite. A power cut during a write can lose jobs. */
import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { asSyncError, attempt, type ErrorCode, SyncError } from '../../src/errors.ts'
import { EmbeddedPool, NO_EVENTS } from './embeddedPool.ts'
import { prepareTables, sqlBackend, sqlValues } from './sqlBackend.ts'
import { composeStore, type Opening, type QueueStore } from './store.ts'
import { messageOf, ProblemLog } from './problemLog.ts'
import { accessSync, chmodSync, constants, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { MINUTE_MS } from '../../src/instant.ts'
import { folderRefused, ownFileRefused, makeFolder } from '../../src/folders.ts'

/** The free disk space that the store needs to start. PGlite's write-ahead log grows by 16 MiB at a time. */
const FREE_BYTES_MIN = 16 * 1_048_576
/** Workers poll for new and lost jobs only every 60 s, because a new job wakes its worker. */
const WORKER_OPTIONS = { drainDelay: 60, stalledInterval: MINUTE_MS }
const FULL_DISK_CODES: readonly ErrorCode[] = ['QUEUE_UNFIT', 'UNEXPECTED']

/** Throws QUEUE_LOCKED, QUEUE_UNFIT, DISK_FULL or WAREHOUSE_MISSING. */
export async function openEmbeddedStore(options: Opening): Promise<QueueStore> {
  const { directory } = options
  try {
    return await openLocked(options)
  } catch (error) {
    if (!FULL_DISK_CODES.includes(asSyncError(error).code) || !(await isFull(directory))) throw error
    throw new SyncError('DISK_FULL', `no space is left for the embedded queue ${directory}`, {
      cure: 'Free some space and start Tidemark again. The jobs in the queue are kept.',
      data: { directory },
      cause: error,
    })
  }
}

async function openLocked(options: Opening): Promise<QueueStore> {
  const { directory, clock, prefix: schema } = options
  using opening = new DisposableStack()
  opening.use(lockDirectory(directory))
  // The messages need no masking: PGlite has no passwords.
  const problems = new ProblemLog(options, (text) => text)
  const pool = await openPool({ directory, schema, clock, onError: problems.log })
  pool.on('error', problems.log)
  const lock = opening.move()
  return composeStore(options, {
    kind: 'embedded',
    shown: directory,
    backend: sqlBackend(pool, schema),
    workerOptions: WORKER_OPTIONS,
    problems,
    values: sqlValues(pool),
    check: async () => [{ state: 'passed', what: `embedded, in ${directory}` }],
    workersOf: async (_, here) => Math.min(1, here),
    release: () => pool.end().finally(() => lock.dispose()),
  })
}

async function openPool(settings: Parameters<typeof EmbeddedPool.open>[0]): Promise<EmbeddedPool> {
  let pool: EmbeddedPool | undefined
  try {
    pool = await EmbeddedPool.open(settings)
    await prepareTables(pool, settings.schema)
    await pool.query(NO_EVENTS)
    return pool
  } catch (error) {
    await pool?.end()
    if (error instanceof SyncError) throw error
    const cure = `Move ${settings.directory} away. Schedules and open backfills are then restored from the warehouse.`
    throw new SyncError('QUEUE_UNFIT', `the embedded queue cannot be opened: ${messageOf(error)}`, { cure })
  }
}

async function isFull(directory: string): Promise<boolean> {
  const { bavail, bsize } = await statfs(dirname(directory))
  return bavail * bsize < FREE_BYTES_MIN
}

const SQLITE_BUSY = 5

/** Locks the directory for this process, because two processes at once would lose jobs. Throws QUEUE_LOCKED. */
export function lockDirectory(directory: string): Disposable {
  const folder = dirname(directory)
  try {
    makeFolder(folder)
    return lockIn(directory)
  } catch (error) {
    const holder = `${directory}.holder`
    // An error without a path is from SQLite, and `.lock` is the only file that SQLite opens here.
    const own = (error as NodeJS.ErrnoException).path === holder ? holder : `${directory}.lock`
    throw existsSync(own) && mayWrite(folder) ? ownFileRefused(own, error) : folderRefused(folder, error)
  }
}

const mayWrite = (folder: string): boolean =>
  attempt(() => accessSync(folder, constants.W_OK | constants.X_OK) === undefined, false)

function lockIn(directory: string): Disposable {
  const holder = `${directory}.holder`
  const file = `${directory}.lock`
  const lock = new DatabaseSync(file, { timeout: 0 })
  try {
    // A lock on a read-only file would not exclude other processes.
    accessSync(file, constants.W_OK)
    // Must run before BEGIN, which creates SQLite's journal with the permissions of the lock file.
    closeToOthers(file)
    lock.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
    writeFileSync(holder, `process ${process.pid}`)
    closeToOthers(holder)
  } catch (error) {
    lock.close()
    if (!(error instanceof Error) || !('errcode' in error) || error.errcode !== SQLITE_BUSY) throw error
    const user = attempt(() => readFileSync(holder, 'utf8'), 'another process')
    throw new SyncError('QUEUE_LOCKED', `the embedded queue ${directory} is in use by ${user}`, {
      cure: 'Let the running worker do the work, or stop it. For several workers, set queue to a Redis.',
      data: { directory },
    })
  }
  return { [Symbol.dispose]: () => lock.close() }
}

/** Ignores errors, because some file systems do not support permissions. */
const closeToOthers = (file: string): void => attempt(() => chmodSync(file, 0o600), undefined)
