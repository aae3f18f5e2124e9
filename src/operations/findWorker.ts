/** The connection to the worker that owns the warehouse: its socket or, from another machine, the shared queue. */
import { existsSync } from 'node:fs'
import type { Clock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import { asSyncError, type SyncError } from '../errors.ts'
import { ANSWERS, type AnswerOf, errorFrom, notUnderstood, type OperationRequest, type Reply } from './contract.ts'
import type { Caller } from './engine.ts'
import { answersAt, askSocket, socketPathOf } from './socket.ts'

export interface WorkerConnection extends AsyncDisposable {
  /** Returns the answer to a request. Throws the operation's error, or WORKER_LOST if the worker does not reply. */
  ask<R extends OperationRequest>(request: R, caller: Caller): Promise<AnswerOf<R['do']>>
}

const ANSWER_MS_MAX = 3_000

/** Receives the error of a queue that cannot be reached, or does not answer within `ANSWER_MS_MAX`. */
export type OnSilence = (error: SyncError) => undefined

/** Connects to the worker that owns the warehouse. Returns undefined if there is none. */
export async function findWorker(config: Config, clock: Clock, onSilence?: OnSilence) {
  const path = socketPathOf(config.warehouse)
  if (await answersAt(path)) return connectionOver((request, caller) => askSocket({ path, clock }, request, caller))
  return config.queue === 'embedded' ? undefined : findThroughQueue(config, clock, onSilence)
}

async function findThroughQueue({ queue, warehouse, lake }: Config, clock: Clock, onSilence?: OnSilence) {
  const [{ openStore }, { A_LAKE, reservedFor }, { askQueue }] = await Promise.all([
    import('../../jobs/stores/openStore.ts'),
    import('../../jobs/stores/reservation.ts'),
    import('./queue.ts'),
  ])
  const opening = openStore(queue, { directory: '', clock, ...(onSilence && { answerMs: ANSWER_MS_MAX }) })
  const store = await opening.catch((error: unknown) => onSilence?.(asSyncError(error)))
  if (store === undefined) return undefined
  const workers = await store.workersOf('control').catch(() => 0)
  // If this folder has a warehouse of its own, a worker of another warehouse must not do the work.
  const own = lake === undefined ? warehouse : A_LAKE
  const isOther = ![undefined, own].includes(await reservedFor(store).catch(() => undefined)) && existsSync(warehouse)
  const send: Send = (request, caller) => askQueue({ store, clock }, request, caller)
  if (workers > 0 && !isOther) return connectionOver(send, () => store.close())
  await store.close()
  return undefined
}

type Send = (request: OperationRequest, caller: Caller) => Promise<Reply>

const connectionOver = (send: Send, close = () => Promise.resolve()): WorkerConnection => ({
  ask: async <R extends OperationRequest>(request: R, caller: Caller) => {
    const reply = await send(request, caller)
    if ('error' in reply) throw errorFrom(reply.error)
    const { success, data } = ANSWERS[request.do].safeParse(reply.result)
    if (!success) throw notUnderstood(`the worker's answer to "${request.do}" is not understood`)
    return data as AnswerOf<R['do']>
  },
  [Symbol.asyncDispose]: close,
})
