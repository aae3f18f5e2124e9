/**
 * A process of its own that runs a backfill, or pulls one window of one, for tests that kill it or load elsewhere what
 * it pulled. What to do stands in the environment; each line that it writes is a JSON value.
 */
import { openClient } from '../../../src/client/reporting.ts'
import { systemClock } from '../../../src/clock.ts'
import { loadConfig } from '../../../src/config/config.ts'
import { asSyncError } from '../../../src/errors.ts'
import { type BackfillOptions, backfillReport } from '../../../src/sync/backfill/backfill.ts'
import { type WindowRequest, pullHere } from '../../../src/sync/backfill/handover.ts'
import { identityOf } from '../../../src/sync/context.ts'
import { Warehouse } from '../../../src/warehouse/warehouse.ts'

type Wanted = { readonly pull: WindowRequest } | { readonly backfill: Omit<BackfillOptions, 'pull' | 'onProgress'> }

const tell = (value: unknown) => void process.stdout.write(`${JSON.stringify(value)}\n`)

async function main(): Promise<unknown> {
  const { TIDEMARK_TEST_FOLDER: cwd = '', TIDEMARK_TEST_WANTED: told = '', ...env } = process.env
  const wanted = JSON.parse(told) as Wanted
  const config = await loadConfig({ cwd, env })
  await using client = openClient({ ...config.service }, { clock: systemClock })
  const settings = { ...config, ...config.service, identity: identityOf(config.service) }
  const signal = new AbortController().signal
  const walking = { client, clock: systemClock, settings, onProgress: () => undefined, signal }
  if ('pull' in wanted) return { directory: (await pullHere(walking)(wanted.pull, signal)).directory }
  await using warehouse = await Warehouse.open({ path: config.warehouse, memory: config.limits.warehouseMemory })
  const context = { ...walking, warehouse }
  return await backfillReport(context, { ...wanted.backfill, pull: pullHere(walking), onProgress: tell })
}

tell(await main().catch((thrown: unknown) => ({ error: asSyncError(thrown) })))
