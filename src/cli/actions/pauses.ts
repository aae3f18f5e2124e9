/** What `tidemark pause` and `tidemark resume` do: they say in the warehouse which reports are skipped. */
import type { ControlRequest } from '../../../jobs/control/controlRequest.ts'
import type { Config } from '../../config/config.ts'
import { identityOf } from '../../sync/context.ts'
import type { Warehouse } from '../../warehouse/warehouse.ts'
import { configOf } from '../configOf.ts'
import { findWorker } from '../control/remote.ts'
import { openWarehouse } from '../../wiring/openContext.ts'
import type { ExitCode, Shell } from '../shell.ts'
import { known } from '../wanted.ts'

export interface PauseOptions {
  readonly config?: string
}

export async function pause(shell: Shell, names: readonly string[], { config }: PauseOptions): Promise<ExitCode> {
  const reports = [...known(names)]
  const code = await askedOrDone(
    shell,
    { do: 'pause', reports },
    {
      config,
      work: async (warehouse, { service }) => {
        const words = { code: 'REPORT_PAUSED', reason: 'paused by an operator', with: identityOf(service) }
        for (const report of reports) {
          await warehouse.pause({ report, ...words, cure: `Run: tidemark resume ${report}` }, shell.clock.now())
        }
      },
    },
  )
  shell.out.write(`paused: ${reports.join(', ')}\n`)
  return code
}

export async function resume(shell: Shell, names: readonly string[], { config }: PauseOptions): Promise<ExitCode> {
  const reports = [...known(names)]
  const work = async (warehouse: Warehouse) => void (await warehouse.resume(reports))
  const code = await askedOrDone(shell, { do: 'resume', reports }, { config, work })
  shell.out.write(`resumed: ${reports.join(', ')}\n`)
  return code
}

interface Doing {
  readonly config: string | undefined
  readonly work: (warehouse: Warehouse, config: Config) => Promise<void>
}

/** In the worker where one runs, else in the warehouse itself. */
async function askedOrDone(shell: Shell, request: ControlRequest, { config: file, work }: Doing): Promise<ExitCode> {
  const config = await configOf(shell, file)
  await using worker = await findWorker(shell, config)
  if (worker !== undefined) {
    await worker.ask(request)
    return 0
  }
  await using warehouse = await openWarehouse(config)
  await work(warehouse, config)
  // What readers see says so too.
  await warehouse.publish(config.published)
  return 0
}
