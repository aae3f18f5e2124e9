/** Generates a row's audit entries. Some entries occur twice, so that tests show that Tidemark stores both copies. */
import { draw, pick } from './dice.ts'
import type { Row, TrailEntry } from './table.ts'
import { formatTicks } from './ticks.ts'

const USERS = 60
const DUPLICATED_PERCENT = 8

export function recordChange(row: Row, change: Omit<TrailEntry, 'userId'>): void {
  const entry = { ...change, userId: userOf(row, row.trail.length) }
  row.trail.push(entry)
  if (isDuplicated(row, 100 + row.trail.length)) row.trail.push(entry)
}

export const trailOf = (row: Row): readonly TrailEntry[] =>
  [...earlierEntries(row), ...row.trail].sort((a, b) => a.at - b.at)

function earlierEntries(row: Row): TrailEntry[] {
  if (row.history === undefined) return []
  const { created, modified, aggregate, deleted, earlierEdits } = row.history
  const entries = [entryOf(row, 0, { at: created, action: 'Created' })]
  earlierEdits.forEach((at, i) => entries.push(entryOf(row, i + 1, { at, action: 'Updated' })))
  if (modified > created) {
    const last = entryOf(row, 9, { at: modified, action: deleted ? 'Deleted' : 'Updated' })
    entries.push(last)
    if (isDuplicated(row, 9)) entries.push(last)
  }
  if (row.table.report === 'events' && aggregate > modified)
    entries.push(entryOf(row, 10, { at: aggregate, action: 'Updated' }))
  return entries
}

function entryOf(row: Row, step: number, change: Pick<TrailEntry, 'at' | 'action'>): TrailEntry {
  const field = pick(['name', 'status', 'notes', 'attendees'], drawn(row, 50 + step))
  const source = pick(['web', 'import', 'API – Übernahme'], drawn(row, 70 + step))
  const payload = change.action === 'Created' ? { source } : { source, changes: [{ field }] }
  return { ...change, userId: userOf(row, step), payload }
}

const drawn = ({ table, number }: Row, purpose: number): number => draw(table.settings.seed, number, purpose)

const userOf = (row: Row, step: number): number => 1 + (drawn(row, 90 + step) % USERS)

const isDuplicated = (row: Row, step: number): boolean => drawn(row, 200 + step) % 100 < DUPLICATED_PERCENT

export const aggregatesOf = (entries: readonly TrailEntry[], entry: TrailEntry): object => ({
  entriesOfRecord: entries.length,
  entriesOfUser: entries.filter((other) => other.userId === entry.userId).length,
  firstAt: formatTicks(entries[0]?.at ?? entry.at),
})
