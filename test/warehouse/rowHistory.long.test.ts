/**
 * A history of more reports, rows and runs than in rowHistory.test.ts.
 * @module-tag long
 */
import { it } from 'vitest'
import { busyHistory } from './busyHistory.ts'

it.each(['events', 'enquiries', 'merf_submissions'] as const)(
  'a history of %s agrees with its tables after every run of a busy service, and holds each version that was ever held',
  (report) => busyHistory(report, { rows: 40, runs: 3 }),
)
