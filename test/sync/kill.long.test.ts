/**
 * The kills of kill.test.ts, at other moments.
 * @module-tag long
 */
import { it } from 'vitest'
import { repetitions } from '../support/repeats.ts'
import { killSyncs } from './kills.ts'

const KILLS = repetitions(20, 6)

it(`a sync killed at ${KILLS} moments never leaves a mark ahead of the data, and one clean run is complete`, () =>
  killSyncs({ kills: KILLS, seed: 20_261_121 }))
