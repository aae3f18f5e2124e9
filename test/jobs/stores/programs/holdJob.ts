/**
 * A worker that takes one job and never ends it, for tests that kill it. Says `open`, then `holding` with the job's id.
 */
import { systemClock } from '../../../../src/clock.ts'
import { openStore } from '../../../../jobs/stores/openStore.ts'
import { asSyncError } from '../../../../src/errors.ts'

const { STORE = '', STORE_DIRECTORY: directory = '', STORE_PREFIX: prefix, STORE_QUEUE, STORE_ADD } = process.env
const say = (line: string) => process.stdout.write(`${line}\n`)

try {
  const store = await openStore(STORE, { directory, clock: systemClock, ...(prefix === undefined ? {} : { prefix }) })
  say('open')
  if (STORE_QUEUE !== undefined) {
    if (STORE_ADD !== undefined) await store.queue<object>(STORE_QUEUE).add('held', {}, { jobId: STORE_ADD })
    const hold = async (job: { id?: string | undefined }) => {
      say(`holding ${job.id}`)
      await new Promise(() => undefined)
    }
    store.worker(STORE_QUEUE, hold, { lockDuration: 1_500, stalledInterval: 500 })
  }
  // Kept alive until it is killed.
  setInterval(() => undefined, 60_000)
} catch (error) {
  say(JSON.stringify(asSyncError(error)))
}
