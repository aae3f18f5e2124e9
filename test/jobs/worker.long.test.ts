/**
 * The tests of worker.test.ts, each on the other store.
 * @module-tag long
 */
import { describe } from 'vitest'
import { testWorkers } from './workerSuite.ts'

describe('a worker', () => testWorkers('long'))
