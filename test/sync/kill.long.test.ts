/**
 * The kills of kill.test.ts, at more moments.
 * @module-tag long
 */
import { it } from 'vitest'
import { killSyncs } from './kills.ts'

it('a sync killed at 20 moments never leaves a mark ahead of the data, and one clean run is complete', () =>
  killSyncs(20))
