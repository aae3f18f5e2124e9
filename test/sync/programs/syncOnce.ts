/**
 * A process of its own that runs reports once, for tests that kill it or measure it: what to do stands in the
 * environment, what came of it goes to standard output as one line of JSON.
 */
import { rm } from 'node:fs/promises'
import { type ReportName, reportNames } from '../../../schema/index.ts'
import { openClient } from '../../../src/client/reporting.ts'
import { systemClock } from '../../../src/clock.ts'
import { loadConfig } from '../../../src/config/config.ts'
import { asSyncError } from '../../../src/errors.ts'
import { identityOf } from '../../../src/sync/context.ts'
import { syncAll } from '../../../src/sync/syncAll.ts'
import { Warehouse } from '../../../src/warehouse/warehouse.ts'

async function main(): Promise<object> {
  const { TIDEMARK_TEST_FOLDER: cwd = '', TIDEMARK_TEST_REPORTS: wanted, ...env } = process.env
  const config = await loadConfig({ cwd, env })
  const reports = wanted === undefined ? reportNames : (wanted.split(',') as ReportName[])
  await using warehouse = await Warehouse.open({ path: config.warehouse, memory: config.limits.warehouseMemory })
  await rm(config.staging, { recursive: true, force: true })
  const limits = {
    attemptsMax: 4,
    retryDelayMsMin: 1,
    retryDelayMsMax: 20,
    answerBytesMax: config.limits.pageBytesMax,
  }
  await using client = openClient({ ...config.service, limits }, { clock: systemClock })
  const { concurrency } = config.service
  const settings = { ...config, ...config.service, concurrency, identity: identityOf(config.service) }
  const signal = new AbortController().signal
  const context = { client, warehouse, clock: systemClock, settings, onProgress: () => undefined, signal }
  process.stdout.write('{"started":true}\n')
  const outcomes = await syncAll(context, reports)
  return { outcomes: outcomes.map(({ report, state, error, figures }) => ({ report, state, figures, error })) }
}

const told = await main().catch((thrown: unknown) => ({ error: asSyncError(thrown) }))
process.stdout.write(`${JSON.stringify({ ...told, peakBytes: process.resourceUsage().maxRSS * 1_024 })}\n`)
