/**
 * Runs SQL statements of users (command line, console, reading tools) on the newest published copy. The statements run
 * in a separate process (readerMain.ts). The first statement starts this process. A later statement starts a new one if
 * the process has ended or a newer copy was published.
 */
import { link, realpath, stat } from 'node:fs/promises'
import path from 'node:path'
import type { LakePlace } from '../warehouse/database/lake.ts'
import type { TakeRows } from '../warehouse/database/duckdb.ts'
import { SyncError } from '../errors.ts'
import { isThere } from '../folders.ts'
import type { Request } from './messages.ts'
import { type AskOptions, ReaderProcess } from './readerProcess.ts'

export interface ReaderSettings {
  readonly published: string
  /** The lake that is read in place of the published copy. */
  readonly lake?: LakePlace | undefined
  /** DuckDB's limit of memory, such as `1GB`. */
  readonly memory: string
  /** Maximum size of all temporary files together, such as `10GB`. */
  readonly disk: string
  /** Time limit (ms) of one statement. */
  readonly timeMs: number
  readonly threads?: number | undefined
}

export interface Reader extends AsyncDisposable {
  /**
   * Passes the rows of a statement to `take`, in pieces, until `take` returns false. Returns the names of the columns.
   * Throws QUERY_FAILED, CANCELLED, WAREHOUSE_MISSING, WAREHOUSE_CORRUPT.
   */
  query(sql: string, take: TakeRows, signal?: AbortSignal): Promise<readonly string[]>
  /** Writes the rows to an existing file as Parquet. Returns their number. Throws errors of `query`, and DISK_FULL. */
  writeParquet(sql: string, file: string, signal?: AbortSignal): Promise<number>
}

/** Returns a reader of the newest published copy. Several statements of one reader run one after the other. */
export function openReader(settings: ReaderSettings): Reader {
  let current: { readonly state: string; readonly process: Promise<ReaderProcess> } | undefined
  const close = async () => {
    const ending = current?.process
    current = undefined
    await ending?.then((process) => process.kill(isClosed())).catch(() => undefined)
  }
  const ask = async (request: Request, options: Omit<AskOptions, 'limitMs'>): Promise<unknown> => {
    const result = request.do === 'write' ? request.result : undefined
    const state = `${await stateOf(settings)} ${result}`
    const isUsable =
      current?.state === state &&
      (await current.process.then(
        (process) => process.isAlive,
        () => false,
      ))
    if (!isUsable) await close()
    current ??= { state, process: start(settings, result) }
    return (await current.process).ask(request, { ...options, limitMs: settings.timeMs })
  }
  return {
    query: (sql, take, signal) => ask({ do: 'query', sql }, { take, signal }) as Promise<readonly string[]>,
    writeParquet: (sql, result, signal) => ask({ do: 'write', sql, result }, { signal }) as Promise<number>,
    [Symbol.asyncDispose]: close,
  }
}

/** Returns a text that changes with each publication; empty for a lake. Throws WAREHOUSE_MISSING without a copy. */
async function stateOf({ published, lake }: ReaderSettings): Promise<string> {
  if (lake !== undefined) return ''
  if (isThere(published)) {
    const { dev, ino } = await stat(published, { bigint: true })
    return `${dev} ${ino}`
  }
  throw new SyncError('WAREHOUSE_MISSING', `nothing was published yet: there is no ${published}`, {
    cure: 'Run "tidemark sync": it publishes at its end.',
    data: { path: published },
  })
}

async function start(settings: ReaderSettings, result: string | undefined): Promise<ReaderProcess> {
  const { published, lake, memory, disk, threads, timeMs: limitMs } = settings
  const file = lake === undefined ? await realpath(published) : published
  const process = await ReaderProcess.start(file, { memory, isLake: lake !== undefined })
  const own = path.join(process.folder, path.basename(file))
  // If this user may read the copy but not link it, the process opens the copy itself.
  const isLinked =
    lake === undefined &&
    (await link(file, own).then(
      () => true,
      () => false,
    ))
  const source = lake ?? (isLinked ? own : file)
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
