/** Asks the worker on this machine through its socket. */
import { once } from 'node:events'
import { type IncomingMessage, request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { createInterface } from 'node:readline'
import type { Answer } from '../../../jobs/control/control.ts'
import type { ControlRequest } from '../../../jobs/control/controlRequest.ts'
import { SyncError } from '../../errors.ts'
import { type Asking, lost } from './asked.ts'

/** Somebody listens there. */
export function answersAt(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path, () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}

/** A worker whose loop turns says at once that it has heard. */
const HEARD_MS_MAX = 10_000

export async function askSocket(
  path: string,
  request: ControlRequest,
  { onEvent, clock, signal }: Asking,
): Promise<Answer> {
  const asked = httpRequest({ socketPath: path, method: 'POST', path: '/', agent: false, signal })
  const callOff = clock.after(HEARD_MS_MAX, () => asked.destroy(lost('does not answer')))
  try {
    asked.end(JSON.stringify(request))
    const [response] = (await once(asked, 'response')) as [IncomingMessage]
    callOff()
    for await (const line of createInterface(response)) {
      const told = JSON.parse(line) as { event?: Record<string, unknown>; answer?: Answer }
      if (told.event !== undefined) onEvent(told.event)
      if (told.answer !== undefined) return told.answer
    }
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof SyncError) throw error
  } finally {
    callOff()
  }
  signal.throwIfAborted()
  throw lost('went away before it was done')
}
