/** Sends OpenTelemetry traces. To protect data and secrets, spans contain no bodies, headers or messages. */
import type { Telemetry } from 'bullmq'
import { asSyncError } from '../../src/errors.ts'
import type { Log } from '../../src/log.ts'
import type { Facts, Observe } from '../../src/observe.ts'

export interface Tracing extends AsyncDisposable {
  readonly observe: Observe
  readonly telemetry: Telemetry
}

type Env = Readonly<Record<string, string | undefined>>

const isTrue = (value: string | undefined): boolean => value?.trim().toLowerCase() === 'true'

/** Returns whether the OTEL variables ask for OTLP traces. */
export function wantsTraces(env: Env): boolean {
  if (isTrue(env['OTEL_SDK_DISABLED'])) return false
  const exporter = env['OTEL_TRACES_EXPORTER']?.trim() ?? ''
  if (exporter !== '' && !exporter.split(',').some((each) => each.trim() === 'otlp')) return false
  const endpoint = env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'] ?? env['OTEL_EXPORTER_OTLP_ENDPOINT'] ?? ''
  return endpoint.trim() !== '' || exporter !== ''
}

export interface TracingOptions {
  readonly env: Env
  readonly version: string
  readonly log: Log
}

const SERVICE_NAME = 'tidemark'
const PREFIX = 'tidemark.'
const FLUSH_MS_MAX = 2_000

/** Returns undefined if the OTEL variables ask for no traces. */
export async function openTracing({ env, version, log }: TracingOptions): Promise<Tracing | undefined> {
  if (!wantsTraces(env)) return undefined
  const protocol = env['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL'] ?? env['OTEL_EXPORTER_OTLP_PROTOCOL'] ?? 'http/json'
  const advice = 'traces are sent over HTTP only: set OTEL_EXPORTER_OTLP_PROTOCOL to http/protobuf or http/json'
  if (!protocol.startsWith('http/')) log.warn({ protocol }, advice)
  const provider = await providerOf(env)
  const { BullMQOtel } = await import('bullmq-otel')
  const { SpanStatusCode, trace } = await import('@opentelemetry/api')
  const tracer = trace.getTracer('tidemark', version)
  const observe: Observe = ({ what, report, facts = {} }, work) =>
    tracer.startActiveSpan(`tidemark ${what}`, { attributes: attributesOf({ report, ...facts }) }, async (span) => {
      const fail = (code: string) => {
        span.setAttribute('error.type', code)
        span.setStatus({ code: SpanStatusCode.ERROR, message: code })
      }
      try {
        return await work((more) => {
          span.setAttributes(attributesOf(more))
          if (what === 'run' && typeof more['code'] === 'string') fail(more['code'])
        })
      } catch (error) {
        fail(asSyncError(error).code)
        throw error
      } finally {
        span.end()
      }
    })
  return {
    observe,
    telemetry: new BullMQOtel({ tracerName: 'tidemark-queues', version }),
    [Symbol.asyncDispose]: async () => {
      await provider.forceFlush({ timeoutMillis: FLUSH_MS_MAX }).catch(() => undefined)
      await provider.shutdown().catch(() => undefined)
    },
  }
}

async function providerOf(env: Env) {
  const { context, propagation, trace } = await import('@opentelemetry/api')
  const { W3CTraceContextPropagator } = await import('@opentelemetry/core')
  const sdk = await import('@opentelemetry/sdk-trace')
  const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-http')
  const { AsyncLocalStorageContextManager } = await import('@opentelemetry/context-async-hooks')
  const { defaultResource, detectResources, envDetector, resourceFromAttributes } = await import(
    '@opentelemetry/resources'
  )
  const named = resourceFromAttributes({ 'service.name': env['OTEL_SERVICE_NAME'] ?? SERVICE_NAME })
  const resource = defaultResource()
    .merge(named)
    .merge(detectResources({ detectors: [envDetector] }))
  const provider = new sdk.TracerProvider({
    resource,
    sampler: samplerOf(env, sdk),
    spanProcessors: [new sdk.BatchSpanProcessor({ exporter: new OTLPTraceExporter() })],
  })
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  propagation.setGlobalPropagator(new W3CTraceContextPropagator())
  trace.setGlobalTracerProvider(provider)
  return provider
}

function samplerOf(env: Env, sdk: typeof import('@opentelemetry/sdk-trace')) {
  const name = env['OTEL_TRACES_SAMPLER'] ?? 'parentbased_always_on'
  const ratio = Number(env['OTEL_TRACES_SAMPLER_ARG'] ?? '1')
  const share = Number.isFinite(ratio) ? Math.min(1, Math.max(0, ratio)) : 1
  const root = name.endsWith('always_off')
    ? new sdk.AlwaysOffSampler()
    : name.endsWith('traceidratio')
      ? new sdk.TraceIdRatioBasedSampler(share)
      : new sdk.AlwaysOnSampler()
  return name.startsWith('parentbased_') ? new sdk.ParentBasedSampler({ root }) : root
}

function attributesOf(facts: Facts): Record<string, string | number | boolean> {
  const known = Object.entries(facts).filter(
    (fact): fact is [string, string | number | boolean] => fact[1] !== undefined,
  )
  return Object.fromEntries(known.map(([name, value]) => [`${PREFIX}${name}`, value]))
}
