/** The queue's store is away while a request from another machine reports the end of a run. */
import { expect, it } from 'vitest'
import type { Consumer, JobConsumers } from '../../jobs/queue/consumers.ts'
import { systemClock as clock } from '../../src/clock.ts'
import type { Reply, SentRequest } from '../../src/operations/contract.ts'
import type { Caller } from '../../src/operations/engine.ts'
import { consumeRequests } from '../../src/operations/queue.ts'
import { nothingRun } from '../../src/sync/reportOutcome.ts'

it('an event that cannot be stored costs neither the reply nor the worker', async () => {
  let process: Consumer<SentRequest>['process'] | undefined
  const consume = (_: string, consumer: unknown) => void ({ process } = consumer as Consumer<SentRequest>)
  const reply: Reply = { result: {} }
  const answer = async (_: unknown, { onEvent }: Caller) => {
    onEvent({ outcome: { ...nothingRun('events'), state: 'done' } })
    await clock.sleep(50)
    return reply
  }
  consumeRequests({ consume } as unknown as JobConsumers, { answer })
  const stored: unknown[] = []
  const updateProgress = async (events: unknown) => {
    stored.push(events)
    throw new Error('OOM command not allowed')
  }
  const data: SentRequest = { request: { do: 'sync', reports: ['events'] }, by: 'ada@etl-1' }
  const task = { id: '1', data, signal: new AbortController().signal, job: { updateProgress } }
  expect(await process?.(task as never)).toBe(reply)
  expect(stored).toHaveLength(1)
})
