/** Creates a warehouse's file, and detects when someone replaces it. */
import { existsSync } from 'node:fs'
import { link, rm, utimes } from 'node:fs/promises'
import { dirname } from 'node:path'
import { systemClock } from '../../clock.ts'
import { asSyncError, attempt, SyncError } from '../../errors.ts'
import { fileIdentity, flush } from '../../files.ts'
import { folderRefused, makeFolder, makePrivateFolder, removeLeftovers } from '../../folders.ts'
import { DAY_MS, SECOND_MS, toMillis } from '../../instant.ts'
import { Database, type DatabaseOptions } from './duckdb.ts'
import { randomUUID } from 'node:crypto'

export function makeFolderFor(file: string): void {
  const folder = dirname(file)
  try {
    makeFolder(folder)
  } catch (error) {
    throw folderRefused(folder, error)
  }
}

/** Creates the file under a temporary name, so that no worker opens an empty file. */
export async function makeFile(path: string, aside: string, options: DatabaseOptions): Promise<void> {
  if (existsSync(path)) return
  try {
    const database = await Database.open(aside, options)
    await database.close()
    // A link never replaces a file that another process has just created.
    await link(aside, path)
    await flush(dirname(path))
  } catch {
    // Another process has created the file, or links are not supported. The caller then opens or creates it.
  } finally {
    await rm(aside, { force: true }).catch(() => undefined)
  }
}

const REPLAY_MEMORY_FACTOR = 4

/** Opens the file, with more memory if DuckDB can't replay the log. */
export async function openFile(path: string, options: DatabaseOptions): Promise<Database> {
  return Database.open(path, options).catch((error: unknown) => {
    if (!['WAREHOUSE_MEMORY', 'DISK_FULL'].includes(asSyncError(error).code)) throw error
    const replayMemory = options.memory.replace(/[\d.]+/, (amount) => String(REPLAY_MEMORY_FACTOR * Number(amount)))
    return Database.open(path, { ...options, replayMemory })
  })
}

/** Returns a check that throws WAREHOUSE_MISSING if someone has replaced the file: later commits would be lost. */
export async function watchFile(path: string): Promise<() => Promise<void>> {
  const before = await fileIdentity(path)
  return async () => {
    const now = await fileIdentity(path)
    if (now === before) return
    const what = now === undefined ? 'was moved away or removed' : 'was replaced by another file'
    throw new SyncError('WAREHOUSE_MISSING', `${path} ${what} while this process had it open`, {
      cure: 'Stop this process, put the right file in place and start it again: rows that it writes until then are lost.',
      data: { path },
    })
  }
}

export const spillPrefix = (warehouse: string): string => `${warehouse}.spill-`

/** Returns functions that create, keep and remove the private folder to which DuckDB spills data. */
export function spillFolderOf(warehouse: string, isMove = false) {
  const prefix = `${spillPrefix(warehouse)}${isMove ? 'move-' : ''}`
  const own = prefix + randomUUID()
  return {
    own,
    /** Creates the folder. Otherwise DuckDB, when it replays a log, creates a folder that other users can enter. */
    prepare: (): void => attempt(() => makePrivateFolder(own), undefined),
    create: async ({ isAlone }: { readonly isAlone: boolean }): Promise<void> => {
      // Keeps `own`, where DuckDB may have written already. In a lake, newer folders may belong to living processes.
      await removeLeftovers(prefix, isAlone ? Infinity : toMillis(systemClock.now()) - DAY_MS, own)
      makePrivateFolder(own)
    },
    /** Renews the time of the folder, so that no other process removes it as a leftover. Call this once an hour. */
    keep: async (): Promise<void> => {
      const now = toMillis(systemClock.now()) / SECOND_MS
      await utimes(own, now, now).catch(() => makePrivateFolder(own))
    },
    /** Deletes the folder. The warehouse must be closed. */
    remove: (): Promise<void> => rm(own, { recursive: true, force: true }),
  }
}
