/**
 * Traces: one from the tick of the schedule to the commit, sent to a real collector; nothing where nobody asks for it.
 */
import { describe, expect, it } from 'vitest'
import { wantsTraces } from '../../jobs/tracing/tracing.ts'
import { traceTicks } from './traceTicks.ts'

describe('traces of a worker on redis', () => {
  it('lead from the tick over the job, its run and its walk to each request and the commit', () => traceTicks('redis'))
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
