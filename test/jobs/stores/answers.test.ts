/** Work that is asked for through the queue of a store: its answer comes whenever it was done. */
import { expect, it } from 'vitest'
import type { QueueStore } from '../../../jobs/stores/store.ts'
import { systemClock } from '../../../src/clock.ts'
import type { OperationRequest } from '../../../src/operations/contract.ts'
import { askQueue } from '../../../src/operations/queue.ts'
import { withMethods } from '../../support/withMethods.ts'
import { grounds, until } from './support.ts'

it.each(grounds)(
  'the answer comes on $title when the work ends between two looks at its job',
  { tags: 'long' },
  async ({ lay }) => {
    await using ground = await lay()
    await using store = await ground.open()
    const gate = Promise.withResolvers<void>()
    const worker = store.worker('control', async () => {
      await gate.promise
      return { result: 'done' }
    })
    const queue = store.queue<OperationRequest>('control')
    // As it is read the job still runs; before the next word about it, it has ended.
    const getJob = async (id: string) => {
      const job = await queue.getJob(id)
      gate.resolve()
      await until(async () => (await queue.getCompletedCount()) === 1)
      return job
    }
    const slow = withMethods(store, { queue: (() => withMethods(queue, { getJob })) as QueueStore['queue'] })
    const caller = { by: 'test', onEvent: () => undefined, signal: new AbortController().signal }
    expect(await askQueue({ store: slow, clock: systemClock }, { do: 'status' }, caller)).toEqual({ result: 'done' })
    await worker.close()
  },
)
