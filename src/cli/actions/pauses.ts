/** What `tidemark pause` and `tidemark resume` do: they say in the warehouse which reports are skipped. */
import type { Config } from '../../config/config.ts'
import { identityOf } from '../../sync/rooms.ts'
import type { Warehouse } from '../../warehouse/warehouse.ts'
import { configOf } from '../configOf.ts'
import { openWarehouse } from '../rooms.ts'
import type { ExitCode, Shell } from '../shell.ts'
import { known } from '../wanted.ts'

export interface PauseOptions {
  readonly config?: string
}

export async function pause(shell: Shell, names: readonly string[], options: PauseOptions): Promise<ExitCode> {
  const reports = known(names)
  return inWarehouse(shell, options, async (warehouse, config) => {
    const words = { code: 'REPORT_PAUSED', reason: 'paused by an operator', with: identityOf(config.service) }
    for (const report of reports) {
      await warehouse.pause({ report, ...words, cure: `Run: tidemark resume ${report}` }, shell.clock.now())
    }
    shell.out.write(`paused: ${reports.join(', ')}\n`)
  })
}

export async function resume(shell: Shell, names: readonly string[], options: PauseOptions): Promise<ExitCode> {
  const reports = known(names)
  return inWarehouse(shell, options, async (warehouse) => {
    await warehouse.resume(reports)
    shell.out.write(`resumed: ${reports.join(', ')}\n`)
  })
}

async function inWarehouse(
  shell: Shell,
  options: PauseOptions,
  work: (warehouse: Warehouse, config: Config) => Promise<void>,
): Promise<ExitCode> {
  const config = await configOf(shell, options.config)
  await using warehouse = await openWarehouse(config)
  await work(warehouse, config)
  // What readers see says so too.
  await warehouse.publish(config.published)
  return 0
}
