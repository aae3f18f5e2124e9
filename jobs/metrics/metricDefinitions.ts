/** Defines every metric. The values of labels come from fixed lists, so that the number of time series is limited. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

const REQUEST_SECONDS_BOUNDS = [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120]
const WORK_SECONDS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600]

export type Meters = ReturnType<typeof createMeters>

export function createMeters(registry: Registry) {
  const registers = [registry]
  const counter = <L extends string>(name: string, help: string, labelNames: L[]) =>
    new Counter({ name: `tidemark_${name}`, help, labelNames, registers })
  const histogram = <L extends string>(name: string, help: string, given: { labelNames: L[]; buckets: number[] }) =>
    new Histogram({ name: `tidemark_${name}`, help, ...given, registers })
  const gauge = <L extends string>(name: string, help: string, labelNames: L[]) =>
    new Gauge({ name, help, labelNames, registers })
  return {
    runs: counter('runs_total', 'Runs that ended', ['report', 'kind', 'state']),
    runSeconds: histogram('run_duration_seconds', 'How long runs took', {
      labelNames: ['report', 'kind'],
      buckets: WORK_SECONDS,
    }),
    rows: counter('rows_total', 'Rows of runs by outcome', ['report', 'kind', 'outcome']),
    pages: counter('pages_total', 'Pages that runs read', ['report', 'kind']),
    errors: counter('errors_total', 'Runs that failed, by the code of their error', ['report', 'code']),
    requests: counter('requests_total', 'Requests to the service by report and status', ['report', 'status']),
    requestSeconds: histogram('request_duration_seconds', 'From sending a request to the last byte of its answer', {
      labelNames: ['report'],
      buckets: REQUEST_SECONDS_BOUNDS,
    }),
    answerBytes: counter('answer_bytes_total', 'Bytes of answers, decompressed', ['report']),
    tokenRequests: counter('token_requests_total', 'Requests for a token by status', ['status']),
    retries: counter('retries_total', 'Requests sent again after a failure, by its code', ['code']),
    throttled: counter('throttled_total', 'Answers with status 429', []),
    loadSeconds: histogram('load_duration_seconds', 'How long loads took, to their commit', {
      labelNames: ['report'],
      buckets: WORK_SECONDS,
    }),
    publishSeconds: histogram('publish_duration_seconds', 'How long it took to check or replace the published copy', {
      labelNames: [],
      buckets: WORK_SECONDS,
    }),
    notices: counter('notices_total', 'Messages to receivers by event and outcome', ['event', 'outcome']),
    build: gauge('tidemark_build_info', 'Always 1; the version as a label', ['version']),
    owner: gauge('tidemark_owner', '1 in the process that owns the warehouse, else 0', []),
    enabled: gauge('tidemark_report_enabled', '1 for reports that are enabled', ['report']),
    paused: gauge('tidemark_report_paused', '1 for reports that are paused', ['report']),
    mark: gauge(
      'tidemark_report_mark_timestamp_seconds',
      'All rows that the service showed as modified until this time are stored',
      ['report'],
    ),
    lag: gauge('tidemark_report_lag_seconds', 'How far the mark is behind now', ['report']),
    lastSuccess: gauge('tidemark_report_last_success_timestamp_seconds', 'When a run last ended well', ['report']),
    rejectedRows: gauge('tidemark_report_rejected_rows', 'Rejected rows that are listed', ['report']),
    misfits: gauge('tidemark_report_misfits', 'Values that do not fit their columns', ['report']),
    queueJobs: gauge('tidemark_queue_jobs', 'Jobs by queue and state', ['queue', 'state']),
    fileBytes: gauge('tidemark_file_bytes', 'Size of the warehouse and of the published copy', ['file']),
    diskFree: gauge('tidemark_disk_free_bytes', 'Free space on the disk of the warehouse', []),
    loopDelay: gauge('tidemark_event_loop_delay_seconds', 'Delay of the event loop since the last scrape', [
      'percentile',
    ]),
    memory: gauge('process_resident_memory_bytes', 'Memory of the process', []),
    cpu: new Counter({
      name: 'process_cpu_seconds_total',
      help: 'Processor time of the process',
      labelNames: ['mode'],
      registers,
    }),
    started: gauge('process_start_time_seconds', 'When the process started', []),
  }
}
