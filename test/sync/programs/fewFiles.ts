/**
 * A process of its own that may open few files (`ulimit -n`): it takes all that are left, then tries what a sync does,
 * gives them back and tries again. What came of each goes to standard output as one line of JSON.
 */
import { closeSync, openSync } from 'node:fs'
import { openClient } from '../../../src/client/reporting.ts'
import { systemClock } from '../../../src/clock.ts'
import { loadConfig } from '../../../src/config/config.ts'
import { asSyncError } from '../../../src/errors.ts'
import { identityOf } from '../../../src/sync/context.ts'
import { syncAll } from '../../../src/sync/syncAll.ts'
import { Warehouse } from '../../../src/warehouse/warehouse.ts'

const FILES_MAX = 10_000

/** Takes all files that this process may still open, but so many. */
function takeFiles(left: number): Disposable {
  const taken: number[] = []
  try {
    while (taken.length < FILES_MAX) taken.push(openSync('/dev/null', 'r'))
    throw new TypeError('the limit of open files was not set')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EMFILE') throw error
  }
  for (const file of taken.splice(0, left)) closeSync(file)
  return {
    [Symbol.dispose]: () => {
      for (const file of taken) closeSync(file)
    },
  }
}

const told = (work: Promise<unknown>) =>
  work.then(
    () => 'done',
    (error: unknown) => asSyncError(error),
  )

const { TIDEMARK_TEST_FOLDER: cwd = '', ...env } = process.env
const config = await loadConfig({ cwd, env })
const { published } = config
await using warehouse = await Warehouse.open({ path: config.warehouse, memory: config.limits.warehouseMemory })
await using client = openClient({ ...config.service, limits: { attemptsMax: 1 } }, { clock: systemClock })
const settings = { ...config, ...config.service, identity: identityOf(config.service) }
const context = { client, warehouse, clock: systemClock, settings, onProgress: () => undefined }
const run = () => syncAll({ ...context, signal: new AbortController().signal }, ['events'])

const found: Record<string, unknown> = {}
{
  using _ = takeFiles(0)
  found['token'] = await told(client.token())
}
{
  // Enough for a connection, too few for each collection of a row.
  using _ = takeFiles(6)
  found['staging'] = (await run())[0]?.error
}
await run()
{
  using _ = takeFiles(0)
  found['publishing'] = await told(warehouse.publish(published))
}
{
  // Enough to look at the folder, too few for the pipes of the process that copies.
  using _ = takeFiles(3)
  found['copying'] = await told(warehouse.publish(published))
}
found['afterwards'] = await told(warehouse.publish(published))
process.stdout.write(`${JSON.stringify(found)}\n`)
