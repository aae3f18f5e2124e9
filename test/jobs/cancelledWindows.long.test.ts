/**
 * Windows of a backfill that the owner itself reads already when it is cancelled.
 * @module-tag long
 */
import { it } from 'vitest'
import { cancelReadWindows } from './cancelledWindows.ts'

it('windows that are read when their backfill is cancelled, on embedded, are let go of', () =>
  cancelReadWindows('embedded'))
