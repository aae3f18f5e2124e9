/** bull-board, set up: the queues of this product, read-only, under the console's name. */
import { createBullBoard } from '@bull-board/api'
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter'
import { FastifyAdapter } from '@bull-board/fastify'
import type { FastifyPluginCallback } from 'fastify'
import type { Requests } from '../../jobs/queue/requests.ts'

/** The plugin that serves it under `place`. */
export function createBoard(place: string, queues: readonly ReturnType<Requests['queue']>[]): FastifyPluginCallback {
  const server = new FastifyAdapter()
  server.setBasePath(place)
  createBullBoard({
    queues: queues.map((queue) => new BullMQAdapter(queue, { readOnlyMode: true })),
    serverAdapter: server,
    options: { uiConfig: { boardTitle: 'Tidemark queues', miscLinks: [{ text: 'Console', url: '/' }] } },
  })
  return server.registerPlugin()
}
