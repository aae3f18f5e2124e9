/** Runs a worker on a store with a collector of traces, and expects one trace from each tick to its commit. */
import { expect } from 'vitest'
import { SECRET_TEXT } from '../cli/support.ts'
import { aWorkshop, linesOf, type Store, stop, until } from '../jobs/support.ts'
import { aCollector, lineage } from './collector.ts'

const ticked = (names: readonly string[]): boolean => names[0]?.includes('ticks') === true

export async function traceTicks(store: Store): Promise<void> {
  await using collector = await aCollector()
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_SERVICE_NAME: 'tides',
    OTEL_BSP_SCHEDULE_DELAY: '200',
  }
  await using shop = await aWorkshop({ store, env })
  const worker = shop.worker()
  const ends = () => linesOf(worker).filter(({ report, state }) => report === 'events' && state === 'done').length
  await until(() => ends() >= 3)
  await stop(worker)
  const { spans } = collector
  const chains = (name: string) =>
    spans.filter((span) => span.name === name).map((span) => lineage(spans, span).map((each) => each.name))
  const way = [expect.stringContaining('ticks'), expect.stringContaining('incremental'), 'tidemark run']
  for (const end of ['tidemark request', 'tidemark load']) {
    const found = chains(end).filter(ticked)
    expect(found.length, end).toBeGreaterThan(0)
    for (const chain of found) {
      expect(chain).toEqual(expect.arrayContaining(way))
      expect(chain.indexOf('tidemark run')).toBeLessThan(chain.indexOf(end))
    }
  }
  expect(chains('tidemark request').some((chain) => chain.includes('tidemark walk'))).toBe(true)
  // Each tick begins a trace of its own.
  const runs = spans.filter(({ name }) => name === 'tidemark run')
  expect(new Set(runs.map(({ traceId }) => traceId)).size).toBe(runs.length)
  expect(new Set(spans.map(({ service }) => service))).toEqual(new Set(['tides']))
  expect(collector.received.join('\n')).not.toContain(SECRET_TEXT.slice(0, 14))
}
