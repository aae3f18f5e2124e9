/** A sync that is killed at a few moments; kill.long.test.ts has more of them. */
import { it } from 'vitest'
import { killSyncs } from './kills.ts'

it('a sync killed at 5 moments never leaves a mark ahead of the data, and one clean run is complete', () =>
  killSyncs(5))
