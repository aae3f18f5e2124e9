/**
 * The commands of layouts.test.ts on warehouses of the other layouts.
 * @module-tag long
 */
import { it } from 'vitest'
import { LAYOUT } from '../../src/warehouse/books/layout.ts'
import { everyCommandOn } from './everyCommand.ts'

it.each(Array.from({ length: LAYOUT - 1 }, (_, index) => index + 2))(
  'a sync, a backfill and every reading command work on a warehouse of layout %i',
  everyCommandOn,
)
