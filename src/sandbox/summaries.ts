/** The summary shape of an event row (spec §2): name, last modification, and how many changes the period recorded. */
import { formatTicks, type Ticks } from './ticks.ts'
import type { World } from './world.ts'
import { draw } from './draw.ts'
import type { EventShape } from './options.ts'
import { ENTITY_IDS } from './reports.ts'
import type { Value } from './validate.ts'

/** In the `mixed` shape an event always keeps the shape it has. */
export const isSummary = (shape: EventShape, row: number): boolean =>
  shape === 'summary' || (shape === 'mixed' && draw(17, row, 1) % 2 === 1)

export function summaryText(world: World, row: number, values: ReadonlyMap<string, Value>): string {
  const table = world.tables.events
  const key = table.keyOf(row)
  const since = Number(values.get('modifiedSince'))
  const until = Number(values.get('modifiedUntil') ?? Number.POSITIVE_INFINITY)
  const recorded = world
    .auditEntries(ENTITY_IDS.events, key)
    .filter(({ at }: { at: Ticks }) => at >= since && at <= until)
  const modifiedAt = formatTicks(table.stamps.aggregate(row))
  return `{"eventId":${key},"eventName":${table.texts.field(row, 'name') ?? 'null'},"modifiedAt":"${modifiedAt}","totalChanges":${recorded.length}}`
}
