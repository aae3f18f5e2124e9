/** The queues as bull-board shows them: behind the same login, for looking only, whatever its page may ask for. */
import { createBoard } from './board.ts'
import type { FastifyInstance } from 'fastify'
import type { Requests } from '../../jobs/queue/requests.ts'
import { QUEUES } from '../../jobs/queue/queues.ts'
import { SyncError } from '../errors.ts'
import { sendFailure } from './failures.ts'

const PLACE = '/queues'

export async function addQueues(app: FastifyInstance, requests: Pick<Requests, 'queue'>): Promise<void> {
  const board = createBoard(
    PLACE,
    QUEUES.map((name) => requests.queue(name)),
  )
  await app.register(async (place) => {
    place.addHook('onRequest', async ({ method }, reply) => {
      if (method !== 'GET' && method !== 'HEAD') await sendFailure(reply, onlyShown())
    })
    await place.register(board, { prefix: PLACE })
  })
}

const onlyShown = (): SyncError =>
  new SyncError('CONSOLE_REFUSED', 'the queues are only shown here', {
    cure: 'Act on runs in the console, or with "tidemark cancel", "tidemark pause" and "tidemark sync".',
  })
