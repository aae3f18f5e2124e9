/** /healthz and /readyz need no login and contain no details. /metrics (Prometheus) needs a login or the token. */
import type { FastifyInstance } from 'fastify'
import { type Clock, within } from '../clock.ts'

export interface MetricsText {
  readonly contentType: string
  readonly body: string
}

export interface HealthOptions {
  readonly clock: Clock
  /** Returns whether the queue's store responds and the roles of this worker have begun their work. */
  readonly isReady: () => Promise<boolean>
  readonly metricsText?: (() => Promise<MetricsText>) | undefined
}

const READY_MS_MAX = 2_000

export function addHealth(app: FastifyInstance, { clock, isReady, metricsText }: HealthOptions): void {
  app.get('/healthz', { config: { open: true } }, async () => ({ status: 'ok' }))
  app.get('/readyz', { config: { open: true } }, async (_, reply) => {
    const ready = await within(READY_MS_MAX, clock, () => isReady().catch(() => false))
    return reply.code(ready ? 200 : 503).send({ status: ready ? 'ready' : 'not ready' })
  })
  if (metricsText === undefined) return
  app.get('/metrics', async (_, reply) => {
    const { contentType, body } = await metricsText()
    return reply.type(contentType).send(body)
  })
}
