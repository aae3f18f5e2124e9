/**
 * The worker that owns the warehouse, as a command sees it: something that can be asked. It is found by its socket, or,
 * where it runs on another machine, by its place at the queue.
 */
import type { ControlRequest } from '../../../jobs/control/controlRequest.ts'
import type { Answer } from '../../../jobs/control/control.ts'
import { errorFrom } from '../../../jobs/control/wire.ts'
import type { Config } from '../../config/config.ts'
import type { Shell } from '../shell.ts'
import type { Asking, OnEvent } from './asked.ts'
import { answersAt, askSocket } from './socketClient.ts'
import { socketPathOf } from './socketPath.ts'

export interface Remote extends AsyncDisposable {
  /** Rejects with the error that the work ended in; WORKER_LOST when the worker went away; `signal` ends the wait. */
  ask<T>(request: ControlRequest, onEvent?: OnEvent, signal?: AbortSignal): Promise<T>
}

/** The worker, where one runs; undefined: whoever asks does the work itself. */
export async function findWorker(shell: Shell, config: Config): Promise<Remote | undefined> {
  const path = socketPathOf(config.warehouse)
  if (await answersAt(path)) {
    const send: Send = (request, { onEvent, signal }) =>
      askSocket(path, request, { onEvent, clock: shell.clock, signal })
    return remoteOver(shell, send, () => Promise.resolve())
  }
  if (config.queue === 'embedded') return undefined
  const { queueRemote } = await import('./queueClient.ts')
  const found = await queueRemote(shell, config)
  return found && remoteOver(shell, found.send, found.close)
}

type Send = (request: ControlRequest, asking: Pick<Asking, 'onEvent' | 'signal'>) => Promise<Answer>

const GOES_ON = 'The worker goes on with it; "tidemark status" shows how far it is.'

function remoteOver(shell: Shell, send: Send, close: () => Promise<void>): Remote {
  return {
    ask: async <T>(request: ControlRequest, onEvent: OnEvent = () => undefined, leaves?: AbortSignal) => {
      const { signal } = shell.stop
      using _ = request.do === 'status' ? undefined : shell.stop.goesOnElsewhere(GOES_ON)
      const ends = leaves === undefined ? signal : AbortSignal.any([signal, leaves])
      const answer = await send(request, { onEvent, signal: ends })
      if ('error' in answer) throw errorFrom(answer.error)
      return answer.result as T
    },
    [Symbol.asyncDispose]: close,
  }
}
