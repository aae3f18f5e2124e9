/** A sync that is killed at a few moments; kill.long.test.ts has more of them. */
import { it } from 'vitest'
import { killSyncs } from './kills.ts'

it('a sync killed at 3 moments never leaves a mark ahead of the data, and one clean run is complete', () =>
  killSyncs({ kills: 3, seed: 20_261_124 }))
