/**
 * Owns the warehouse or waits for it. The owner is the process that has the DuckDB file open. Every other process with
 * the role `load` tries to open the file every few seconds, so one of them soon replaces an owner that has ended.
 */
import { asSyncError, type ErrorCode, type SyncError } from '../errors.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import { openWarehouse } from '../wiring/openContext.ts'
import { type OwnerContext, runAsOwner } from './runAsOwner.ts'

export interface StandbyContext extends OwnerContext {
  /** Milliseconds between a standby's attempts to open the file. */
  readonly standbyMs: number
  /** Called each time this process has opened the warehouse. */
  readonly onOwned: () => void
}

/** Errors of opening that pass without an operator: another process ends, or disk space becomes free. */
const PASSING: readonly ErrorCode[] = ['WAREHOUSE_LOCKED', 'DISK_FULL']

/** Runs until the signal aborts. Throws errors of opening that an operator has to resolve. */
export async function ownOrStandBy(context: StandbyContext, signal: AbortSignal): Promise<void> {
  const { log, clock, standbyMs, ownership, onOwned } = context
  let logged: ErrorCode | undefined
  // Only the first opening removes all staged files. Later, this process may have staged some as a puller.
  let isFirst = true
  while (!signal.aborted) {
    const opened = await tryToOpen(context, isFirst)
    if ('warehouse' in opened) {
      logged = undefined
      isFirst = false
      onOwned()
      await runAsOwner(context, opened.warehouse, signal)
      continue
    }
    if (opened.code !== logged) log.info({ code: opened.code }, `standing by: ${opened.message}`)
    logged = opened.code
    if (opened.code === 'WAREHOUSE_LOCKED') ownership.standBy()
    await clock.sleep(standbyMs, signal).catch(() => undefined)
  }
}

async function tryToOpen(
  { config }: StandbyContext,
  isFirst: boolean,
): Promise<{ readonly warehouse: Warehouse } | SyncError> {
  try {
    return { warehouse: await openWarehouse(config, isFirst ? {} : { isShared: true }) }
  } catch (thrown) {
    const error = asSyncError(thrown)
    if (PASSING.includes(error.code)) return error
    throw error
  }
}
