/**
 * The worker as a process: what the schedule starts ends in published rows, commands hand their work to it, a refused
 * report does not hold up the others, and neither a stop nor a kill loses work. Each test on one store.
 */
import { describe } from 'vitest'
import { testWorkers } from './workerSuite.ts'

describe('a worker', () => testWorkers('short'))
