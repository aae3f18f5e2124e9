/**
 * Traces of a worker whose queue is embedded.
 * @module-tag long
 */
import { it } from 'vitest'
import { traceTicks } from './traceTicks.ts'

it('traces of a worker on the embedded queue lead from the tick over the job, its run and its walk to each request and the commit', () =>
  traceTicks('embedded'))
