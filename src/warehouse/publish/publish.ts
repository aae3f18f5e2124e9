/** Publishes a file for readers. A child process copies it: if this process closed it, DuckDB would lose its lock. */
import { execFile } from 'node:child_process'
import { link, readlink, realpath, rm } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { filesExhausted, isOutOfFiles, SyncError } from '../../errors.ts'
import { fileIdentity, removeTemporaryFiles, replaceFile } from '../../files.ts'
import { makeFolder } from '../../folders.ts'
import { MINUTE_MS } from '../../instant.ts'
import { Database } from '../database/duckdb.ts'
import { checkpoint } from '../database/loadResources.ts'
import { name, onlyRow } from '../database/sql.ts'
import { otherSource, recordSource } from './copySource.ts'
import { commentForReaders } from './publishComments.ts'

const COPY_PROGRAM = fileURLToPath(new URL('./copyFile.js', import.meta.url))
/** A copy that takes longer fails. In this time, even a slow disk copies several gigabytes. */
const COPY_MS_MAX = 30 * MINUTE_MS
const READER_MEMORY = '256MB'

/** The setting `publish_by`: `blocks` writes only changed blocks where this is safe. */
export type PublishBy = 'blocks' | 'whole'

/** `reflink` shares disk blocks with the warehouse, and `blocks` writes only changed blocks. */
export interface CopyWay {
  readonly way: 'reflink' | 'blocks' | 'whole'
  readonly blocks?: number
  readonly reason?: string
}

interface CopyReport extends CopyWay {
  /** The positions of blocks with a wrong checksum. -1 means the headers. */
  readonly damaged: readonly number[]
  readonly keepsRetired: boolean
}

export interface PublishResult {
  readonly path: string
  /** False if the copy was already up to date. */
  readonly replaced: boolean
  readonly copied?: CopyWay
}

/** Publishes a copy. After an error, the previous copy stays readable. */
export async function publish(database: Database, to: string, by: PublishBy): Promise<PublishResult> {
  if (database.damage !== undefined) throw database.damage
  const place = await placeFor(to, database.path)
  const state = await stateOf(database)
  // Opening the copy is slow, and needless if this process wrote it and the warehouse has changed since.
  const last = lastPublished.get(database)
  const mustOpen = last === undefined || last.state === state || last.file !== (await fileIdentity(place))
  const copy = mustOpen ? await readCopy(place, database) : undefined
  if (copy?.other !== undefined)
    throw new SyncError('PUBLISH_FAILED', `${to} is the published copy of another warehouse, ${copy.other}`, {
      cure: `Nothing was replaced. Set published to another file. Or, if nobody needs that copy, remove ${to}.`,
      data: { path: to, other: copy.other },
    })
  if (copy?.state === state) return { path: to, replaced: false }
  await database.transaction(commentForReaders)
  await recordSource(database, await realpath(database.path))
  const copied = await database.exclusive(async (run) => {
    await checkpoint(database, run)
    return copyInto(database.path, place, by)
  })
  lastPublished.set(database, { state, file: await fileIdentity(place) })
  return { path: to, replaced: true, copied }
}

const lastPublished = new WeakMap<Database, { readonly state: string; readonly file: string | undefined }>()

async function placeFor(to: string, warehouse: string): Promise<string> {
  try {
    const place = await behindLinks(to)
    makeFolder(dirname(place))
    await removeTemporaryFiles(place)
    if (place !== (await realpath(warehouse))) return place
  } catch (error) {
    throw publishFailed(to, error)
  }
  const what = `the published copy ${to} is the warehouse itself: one is a link to the other`
  const cure = 'Remove the link, or set published to another file.'
  throw new SyncError('PUBLISH_FAILED', what, { cure, data: { path: to } })
}

/** Publishing must replace the file behind a symbolic link, and not the link. */
async function behindLinks(path: string): Promise<string> {
  try {
    return await realpath(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    const target = await readlink(path).catch(() => undefined)
    return target === undefined ? path : behindLinks(resolve(await realpath(dirname(path)), target))
  }
}

/** Returns a fingerprint of the state. A warehouse and an up-to-date copy have the same one. */
export const stateOf = async (database: Database): Promise<string> =>
  (await onlyRow<{ state: string }>(database, STATE)).state

const STATE = `
  SELECT concat_ws('/', (SELECT max(load_id) FROM tidemark.loads), (SELECT count(ended_at) || '@' || max(epoch_us(ended_at)) FROM tidemark.runs),
    (SELECT md5(string_agg(concat_ws('|', report, enabled, off_reason, paused_reason), ',' ORDER BY report)) FROM tidemark.report_states),
    (SELECT epoch_us(max(changed_at)) FROM tidemark.schema_changes),
    (SELECT count(dismissed_at) || '@' || max(epoch_us(dismissed_at)) FROM tidemark.rejected_rows)) AS state`

/** Returns undefined if there is no copy, or if DuckDB cannot read the copy. */
async function readCopy(path: string, own: Database) {
  try {
    await using copy = await Database.open(path, { readOnly: true, memory: READER_MEMORY })
    const other = await otherSource(copy, own)
    return { other, state: other === undefined ? await stateOf(copy) : undefined }
  } catch (error) {
    if (error instanceof SyncError) return undefined
    throw error
  }
}

export function copyInto(from: string, to: string, by: PublishBy = 'blocks'): Promise<CopyWay> {
  const retired = join(dirname(to), `.${basename(to)}.retired`)
  return replaceFile(to, async (temporary) => {
    const given = [COPY_PROGRAM, from, temporary, by === 'whole' ? '' : retired]
    const { stdout } = await promisify(execFile)(process.execPath, given, { timeout: COPY_MS_MAX })
    const { damaged, keepsRetired, ...copied } = JSON.parse(stdout) as CopyReport
    // A block with a wrong checksum is harmless if DuckDB does not use it. If DuckDB does, `readWhole` throws.
    if (damaged.length > 0) await readWhole(temporary, { from, damaged })
    // A killed program that had written into the old copy leaves a log, because of which DuckDB would refuse the new copy.
    for (const outdated of [retired, `${to}.wal`]) await rm(outdated, { force: true })
    // Keeps the old copy. The next publication changes only some blocks of it, instead of copying the whole warehouse.
    if (keepsRetired) await link(to, retired).catch(() => undefined)
    return copied
  }).catch((error: unknown) => {
    throw publishFailed(to, error)
  })
}

async function readWhole(path: string, { from, damaged }: { from: string; damaged: readonly number[] }): Promise<void> {
  try {
    await using copy = await Database.open(path, { readOnly: true, memory: READER_MEMORY })
    const tables = await copy.rows<{ schema: string; table: string }>(`
      SELECT schema_name AS "schema", table_name AS "table" FROM duckdb_tables() WHERE database_name = current_database()`)
    for (const { schema, table } of tables)
      await copy.rows(`SELECT bit_xor(hash(each)) FROM ${name(schema)}.${name(table)} each`)
  } catch (error) {
    const where = damaged.includes(-1) ? 'its header' : `block ${damaged.join(', ')}`
    throw new SyncError('WAREHOUSE_CORRUPT', `${from} is damaged at ${where}; the published copy stays as it was`, {
      cure: 'Stop Tidemark and restore the file from a backup or from the published copy; later changes are read again.',
      data: { path: from, damaged },
      cause: error,
    })
  }
}

function publishFailed(to: string, thrown: unknown): SyncError {
  if (thrown instanceof SyncError) return thrown
  const { stderr = '', signal, message } = thrown as Error & { stderr?: string; signal?: string | null }
  const ended = typeof signal === 'string' ? `the copying process was ended by ${signal}` : message
  const reason = stderr.trim() === '' ? ended : stderr.trim()
  if (isOutOfFiles(reason)) return filesExhausted(reason)
  const isFull = reason.includes('ENOSPC')
  const what = isFull
    ? `no space is left for the published copy ${to}`
    : `the published copy ${to} could not be replaced: ${reason}`
  const cure = isFull ? 'Free as much space as the warehouse takes' : 'Check that its folder is writable'
  return new SyncError(isFull ? 'DISK_FULL' : 'PUBLISH_FAILED', what, {
    cure: `${cure}; the last published copy stays readable.`,
    data: { path: to },
    cause: thrown,
  })
}
