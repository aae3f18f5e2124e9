/** `tidemark move`: fills a new warehouse from the configured one, and prints the settings of the new one. */
import type { Config } from '../../config/config.ts'
import type { Instead } from '../../config/environment.ts'
import { SyncError } from '../../errors.ts'
import { findWorker } from '../../operations/worker.ts'
import { onAbort } from '../../signals.ts'
import { readNumberMark } from '../../warehouse/books/books.ts'
import { knownLayout, LAYOUT } from '../../warehouse/books/layout.ts'
import { lakeName } from '../../warehouse/database/lake.ts'
import { onlyRow, text } from '../../warehouse/database/sql.ts'
import { SOURCE } from '../../warehouse/load/move.ts'
import { stateOf } from '../../warehouse/publish/publish.ts'
import { Warehouse } from '../../warehouse/warehouse.ts'
import { openWarehouseToRead } from '../../wiring/published.ts'
import { print } from '../commandOutput.ts'
import { counted, duration } from '../layout.ts'
import type { Action, Shell } from '../shell.ts'

interface MoveOptions extends Readonly<Record<'data' | 'endpoint' | 'region', string | undefined>> {
  readonly load: (instead?: Instead) => Promise<Config>
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
  const isRepeated = placeOf(target) !== placeOf(from) && (await isMoved(source, target))
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
  const printed = `${isRepeated ? `${placeOf(target)} has everything already: an earlier move has ended` : done}
In tidemark.yaml, write this instead of warehouse and of all settings lake_…:
${lines.join('')}Then run "tidemark check". The old warehouse is unchanged: keep it until all is well.\n`
  return print(shell, options, { document: { settings, tables, rows, seconds: ms / 1_000 }, text: () => printed })
}

const placeOf = ({ warehouse, lake }: Config): string => (lake === undefined ? warehouse : lakeName(lake))

/** Copies all tables of the source. If standard error is a terminal, prints the name and row count of each table. */
async function fill({ err, stop }: Shell, { from, movedFrom, snapshot }: Source, target: Config) {
  const { warehouse: path, lake, limits } = target
  const { queryMemory: memory, warehouseThreads: threads } = limits
  await using warehouse = await Warehouse.open({ path, lake, memory, threads, movedFrom })
  using _ = onAbort(stop.signal, () => warehouse.interrupt())
  if (from.lake === undefined) await warehouse.rows(`ATTACH ${text(from.warehouse)} AS ${SOURCE} (READ_ONLY)`)
  else await warehouse.attachLake({ ...from.lake, snapshot }, SOURCE)
  return await warehouse.move(({ table, rows }) => {
    stop.signal.throwIfAborted()
    if (err.isTerminal) err.write(`${table}: ${counted(rows, 'row')}\n`)
  })
}

type Source = Awaited<ReturnType<typeof sourceOf>>

/** Returns what a move must know of the source. Throws USAGE_INVALID if its tables are missing or too old. */
async function sourceOf(from: Config) {
  await using database = await openWarehouseToRead(from)
  if ((await knownLayout(database, database.path)) < LAYOUT)
    throw new SyncError('USAGE_INVALID', `${database.path} has tables of an older Tidemark, or none`, {
      cure: 'Run "tidemark sync" once: it updates the tables. Then move.',
    })
  const newest = from.lake === undefined ? '0' : '(SELECT max(snapshot_id) FROM lake.snapshots())'
  const { snapshot } = await onlyRow<{ snapshot: number }>(database, `SELECT ${newest} AS snapshot`)
  return { from, movedFrom: await readNumberMark(database), snapshot, state: await stateOf(database) }
}

/** Returns whether an earlier move has filled the target, and neither source nor target has had a run since then. */
async function isMoved({ movedFrom, state }: Source, target: Config): Promise<boolean> {
  try {
    await using database = await openWarehouseToRead(target)
    return (await readNumberMark(database)) === movedFrom && (await stateOf(database)) === state
  } catch {
    // The target does not exist, or its bookkeeping tables are missing or incomplete.
    return false
  }
}
