/** Windows of a backfill that other processes read already when it is cancelled. */
import { it } from 'vitest'
import { cancelReadWindows } from './cancelledWindows.ts'

it('windows that are read when their backfill is cancelled, on redis, are let go of', { tags: 'long' }, () =>
  cancelReadWindows('redis'),
)
