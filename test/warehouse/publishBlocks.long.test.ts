/** Two hundred kills of publishers. The short test has ten. */
import { it } from 'vitest'
import { killPublishers } from './killPublishers.ts'

it('a reader finds a sound copy after each of 200 kills of the publisher', {
  tags: 'long',
  timeout: 1_800_000,
}, async () => {
  await killPublishers(200)
})
