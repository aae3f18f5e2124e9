/** What `tidemark cancel` does: it ends a run or a backfill, in the worker, or in the books where no worker runs. */
import { SyncError } from '../../errors.ts'
import { cancelBackfill, cancelledBefore } from '../../sync/backfill/backfillEnd.ts'
import { configOf } from '../configOf.ts'
import { findWorker } from '../control/remote.ts'
import { openWarehouse } from '../../wiring/openContext.ts'
import type { ExitCode, Shell } from '../shell.ts'

export interface CancelOptions {
  readonly config?: string
}

export async function cancel(shell: Shell, id: string, options: CancelOptions): Promise<ExitCode> {
  const config = await configOf(shell, options.config)
  await using worker = await findWorker(shell, config)
  if (worker !== undefined) {
    const { what, isAlready } = await worker.ask<{ what: string; isAlready?: true }>({ do: 'cancel', id })
    shell.out.write(`cancelled${isAlready === true ? ' already' : ''}: ${what}\n`)
    return 0
  }
  await using warehouse = await openWarehouse(config)
  const report = await cancelBackfill({ warehouse, clock: shell.clock }, id)
  if (report === undefined) {
    const before = await cancelledBefore({ warehouse }, id)
    if (before === undefined) throw nothingSuch(id)
    shell.out.write(`cancelled already: the backfill of ${before}\n`)
    return 0
  }
  await warehouse.publish(config.published)
  shell.out.write(`cancelled: the backfill of ${report}\n`)
  return 0
}

const nothingSuch = (id: string): SyncError =>
  new SyncError('USAGE_INVALID', `no backfill ${id} waits, and no worker runs`, {
    cure: 'A run of another command ends with Ctrl-C there. "tidemark status" shows what there is.',
  })
