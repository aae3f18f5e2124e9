/** Two hundred kills of publishers, or fewer (repeats.ts). The short test has six. */
import { it } from 'vitest'
import { repetitions } from '../support/repeats.ts'
import { killPublishers } from './killPublishers.ts'

const KILLS = repetitions(200, 30)

it(`a reader finds a sound copy after each of ${KILLS} kills of the publisher`, {
  tags: 'long',
  timeout: 1_800_000,
}, async () => {
  await killPublishers(KILLS)
})
