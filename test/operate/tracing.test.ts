/**
 * Traces: one from the tick of the schedule to the commit, sent to a real collector; nothing where nobody asks for it.
 */
import { describe, expect, it } from 'vitest'
import { wantsTraces } from '../../jobs/tracing/tracing.ts'
import { SECRET_TEXT } from '../cli/support.ts'
import { aWorkshop, linesOf, type Store, stop, until } from '../jobs/support.ts'
import { aCollector, lineage } from './collector.ts'

const LONG = { timeout: 120_000 }
const ticked = (names: readonly string[]): boolean => names[0]?.includes('ticks') === true

describe.each<Store>(['redis', 'embedded'])('traces of a worker on %s', (store) => {
  it('lead from the tick over the job, its run and its walk to each request and the commit', LONG, async () => {
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
  })
})

describe('traces', () => {
  it.each([
    [{}, false],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' }, true],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://127.0.0.1:4318/v1/traces' }, true],
    [{ OTEL_TRACES_EXPORTER: 'otlp' }, true],
    [{ OTEL_TRACES_EXPORTER: 'none', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' }, false],
    [{ OTEL_SDK_DISABLED: 'true', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' }, false],
  ])('with %j are sent: %s', (env, wanted) => {
    expect(wantsTraces(env)).toBe(wanted)
  })
})
