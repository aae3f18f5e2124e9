/** `tidemark move`: fills a new warehouse from the configured one, and prints the settings of the new one. */
import { realpathSync } from 'node:fs'
import type { Config } from '../../config/config.ts'
import type { Override } from '../../config/environment.ts'
import { asSyncError, attempt, SyncError, usageError } from '../../errors.ts'
import { findWorker } from '../../operations/findWorker.ts'
import { onAbort } from '../../signals.ts'
import { readNumberPrefix } from '../../warehouse/books/numberPrefix.ts'
import { knownLayout, LAYOUT } from '../../warehouse/books/layout.ts'
import { checkEmpty, type LakePlace, lakeName } from '../../warehouse/database/lake.ts'
import { onlyRow, text } from '../../warehouse/database/sql.ts'
import { SOURCE } from '../../warehouse/load/move.ts'
import { stateOf } from '../../warehouse/publish/publish.ts'
import { Warehouse } from '../../warehouse/warehouse.ts'
import { openWarehouseToRead } from '../../wiring/published.ts'
import { print } from '../commandOutput.ts'
import { counted, duration } from '../layout.ts'
import type { Action, Shell } from '../shell.ts'

interface MoveOptions extends Readonly<Record<'data' | 'endpoint' | 'region', string | undefined>> {
  readonly load: (override?: Override) => Promise<Config>
  readonly to: string
  readonly json?: boolean
}

export const move: Action<MoveOptions, undefined> = async (shell, options) => {
  const { load, to, data, endpoint, region } = options
  const { clock } = shell
  const from = await load()
  const target = await load({
    warehouse: ['--to', to],
    lake_data: ['--data', data],
    lake_endpoint: ['--endpoint', endpoint],
    lake_region: ['--region', region],
    lake_url_style: ['--endpoint', undefined],
  })
  for (const each of [from, target]) {
    await using worker = await findWorker(each, clock)
    const cure = 'Stop all workers. Start them again when the move has ended.'
    if (worker !== undefined) throw new SyncError('WAREHOUSE_LOCKED', 'a worker is running', { cure })
  }
  const beganMs = clock.monotonicMs()
  const source = await sourceOf(from)
  const isRepeated = realOf(target) !== realOf(from) && (await isMoved(source, target))
  const tables = isRepeated ? [] : await fill(shell, source, target)
  const rows = tables.reduce((sum, each) => sum + each.rows, 0)
  const ms = clock.monotonicMs() - beganMs
  const { lake } = target
  const ofLake = lake && { lake_data: lake.data.replace(/\/$/, ''), lake_endpoint: endpoint, lake_region: region }
  const settings = { warehouse: placeOf(target), ...ofLake }
  const lines = Object.entries(settings).flatMap(([key, value]) =>
    value === undefined ? [] : [`  ${key}: ${value}\n`],
  )
  const done = `${counted(tables.length, 'table')} with ${counted(rows, 'row')} moved and compared in ${duration(ms)}`
  const same = `nothing was copied: ${settings.warehouse} has the same rows and books, up to load ${source.load}, since an earlier move`
  const printed = `${isRepeated ? same : done}
In tidemark.yaml, write this instead of warehouse and of all settings lake_…:
${lines.join('')}Then run "tidemark check". The old warehouse is unchanged: keep it until all is well.\n`
  return print(shell, options, { document: { settings, tables, rows, seconds: ms / 1_000 }, text: () => printed })
}

const placeOf = ({ warehouse, lake }: Config): string => (lake === undefined ? warehouse : lakeName(lake))
/** Returns a warehouse's path with links resolved. Otherwise a link to the source would look like another warehouse. */
const realOf = (config: Config): string => attempt(() => realpathSync(placeOf(config)), placeOf(config))

async function fill({ err, stop }: Shell, { from, movedFrom, snapshot }: Source, target: Config) {
  const { warehouse: path, lake, limits } = target
  const { queryMemory: memory, warehouseThreads: threads } = limits
  await using warehouse = await Warehouse.open({ path, lake, memory, threads, movedFrom }).catch(targetError(lake))
  using _ = onAbort(stop.signal, () => warehouse.interrupt())
  if (from.lake === undefined) await warehouse.rows(`ATTACH ${text(from.warehouse)} AS ${SOURCE} (READ_ONLY)`)
  else await warehouse.attachLake({ ...from.lake, snapshot }, SOURCE)
  return await warehouse.move(({ table, rows }) => {
    stop.signal.throwIfAborted()
    if (err.isTerminal) err.write(`${table}: ${counted(rows, 'row')}\n`)
  })
}

/** Returns a function that replaces the advice to run a sync, which is wrong for the new warehouse of a move. */
const targetError = (lake: LakePlace | undefined) => (thrown: unknown) => {
  const { code, message } = asSyncError(thrown)
  const isWrong = code === 'WAREHOUSE_MISSING' || code === 'WAREHOUSE_CORRUPT'
  if (lake?.catalogue === 'postgres' || !isWrong) throw thrown
  const cure = 'Name with --to a new file, in a folder where this user can create files. Nothing was moved.'
  throw new SyncError('USAGE_INVALID', message, { cure, cause: thrown })
}

type Source = Awaited<ReturnType<typeof sourceOf>>

async function sourceOf(from: Config) {
  await using database = await openWarehouseToRead(from)
  if ((await knownLayout(database, database.path)) < LAYOUT)
    throw new SyncError('USAGE_INVALID', `${database.path} has tables of an older Tidemark, or none`, {
      cure: 'Run "tidemark sync" once: it updates the tables. Then move.',
    })
  const snapshot = from.lake === undefined ? '0' : '(SELECT max(snapshot_id) FROM lake.snapshots())'
  const last = await onlyRow<{ load: number; snapshot: number }>(database, `${LAST_LOAD}, ${snapshot} AS snapshot`)
  return { from, movedFrom: await readNumberPrefix(database), ...last, state: await stateOf(database) }
}

const LAST_LOAD = 'SELECT (SELECT coalesce(max(load_id), 0) FROM tidemark.loads) AS load'

async function isMoved({ from, movedFrom, state, load }: Source, target: Config): Promise<boolean> {
  const { lake, limits } = target
  const opened = await openWarehouseToRead(target).catch(asSyncError)
  if (opened instanceof SyncError) {
    if (lake !== undefined && opened.data['isAbsent'] === true) await checkEmpty(lake, { memory: limits.queryMemory })
    return false
  }
  await using database = opened
  // The read fails if another program created the file.
  if ((await readNumberPrefix(database).catch(() => undefined)) !== movedFrom) return false
  // The read fails if an older Tidemark created the tables.
  if ((await stateOf(database).catch(() => undefined)) === state) return true
  const { load: own } = await onlyRow<{ load: number }>(database, LAST_LOAD)
  const age = own === load ? 'another' : own < load ? 'an older' : 'a newer'
  const loads = `its last load is ${own}, and the last load of ${placeOf(from)} is ${load}`
  const cure = 'Nothing was moved or changed. To move everything, name a file or a lake that does not exist yet.'
  throw usageError(`${placeOf(target)} has ${age} state of this warehouse: ${loads}`, cure)
}
