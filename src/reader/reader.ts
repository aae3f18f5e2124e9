/** Runs users' SQL statements on the newest published copy, in a separate process with limited memory. */
import { link, realpath } from 'node:fs/promises'
import path from 'node:path'
import type { Config, Limits } from '../config/config.ts'
import type { TakeRows } from '../warehouse/database/duckdb.ts'
import { nothingPublished, SyncError } from '../errors.ts'
import { fileIdentity } from '../files.ts'
import { isThere } from '../folders.ts'
import { turns } from '../turns.ts'
import type { QueryEnd, Request } from './messages.ts'
import { type AskOptions, ReaderProcess } from './readerProcess.ts'

/** If `lake` is set, the lake is read instead of the published copy. */
export interface ReaderConfig extends Pick<Config, 'published' | 'lake'> {
  readonly limits: Pick<Limits, 'queryMemory' | 'queryDisk' | 'queryTimeMs' | 'warehouseThreads'>
}

/** The result ends before the row with which all values together would exceed `charsMax` characters. */
export type QueryOptions = Pick<AskOptions, 'signal'> & { readonly charsMax?: number }

export interface Reader extends AsyncDisposable {
  /** Passes rows to `take` until `take` returns false. Throws QUERY_FAILED or CANCELLED. */
  query(sql: string, take: TakeRows, options?: QueryOptions): Promise<QueryEnd>
  /** Writes the rows as Parquet to `file`, the only file that the reader may write. Returns the number of rows. */
  writeParquet(sql: string, file: string, signal?: AbortSignal): Promise<number>
}

/** Returns a reader that runs one statement at a time. */
export function openReader(config: ReaderConfig): Reader {
  let current: { readonly state: string; readonly process: Promise<ReaderProcess> } | undefined
  const close = async () => {
    const ending = current?.process
    current = undefined
    await ending?.then((process) => process.kill(isClosed())).catch(() => undefined)
  }
  const inTurn = turns()
  const askInTurn = async (request: Request, options: Omit<AskOptions, 'limitMs'>): Promise<unknown> => {
    const result = request.do === 'write' ? request.result : undefined
    const state = `${await copyIdentity(config)} ${result}`
    const isUsable =
      current?.state === state && (await current.process.then((process) => process.isAlive).catch(() => false))
    if (!isUsable) await close()
    current ??= { state, process: start(config, result) }
    return (await current.process).ask(request, { ...options, limitMs: config.limits.queryTimeMs })
  }
  // A process for another copy or file ends the present process, so the statement of that one must end first.
  const ask: typeof askInTurn = (...given) => inTurn(() => askInTurn(...given))
  return {
    query: (sql, take, { signal, charsMax } = {}) =>
      ask({ do: 'query', sql, charsMax }, { take, signal }) as Promise<QueryEnd>,
    writeParquet: (sql, result, signal) => ask({ do: 'write', sql, result }, { signal }) as Promise<number>,
    [Symbol.asyncDispose]: close,
  }
}

async function copyIdentity({ published, lake }: ReaderConfig): Promise<string> {
  if (lake !== undefined) return ''
  const identity = isThere(published) ? await fileIdentity(published) : undefined
  if (identity === undefined) throw nothingPublished(published)
  return identity
}

async function start({ published, lake, limits }: ReaderConfig, result: string | undefined): Promise<ReaderProcess> {
  const { queryMemory: memory, queryDisk: disk, warehouseThreads: threads, queryTimeMs: limitMs } = limits
  const file = lake === undefined ? await realpath(published) : published
  const process = await ReaderProcess.start(file, { memory, isLake: lake !== undefined })
  const own = path.join(process.folder, path.basename(file))
  // The link keeps the copy readable after the next publication.
  const isLinked =
    lake === undefined &&
    (await link(file, own)
      .then(() => true)
      .catch(() => false))
  // A message cannot contain a `Secret`, so it contains the keys as text.
  const keys = lake?.storage?.keys.map((key) => key.reveal()) ?? []
  const source = lake ? { ...lake, storage: lake.storage && { ...lake.storage, keys } } : isLinked ? own : file
  try {
    await process.ask({ do: 'open', source, result, memory, disk, threads }, { limitMs })
    return process
  } catch (error) {
    await process.kill(isClosed())
    if (!(error instanceof SyncError)) throw error
    throw new SyncError(error.code, error.message.replaceAll(own, file), error)
  }
}

const isClosed = (): SyncError => new SyncError('CANCELLED', 'the reader was closed', { cure: 'Start it again.' })
