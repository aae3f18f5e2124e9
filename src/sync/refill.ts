/**
 * Reads again what was read before the configuration changed (more collections, other filters, an earlier start): newest
 * first, behind the changes of the same run. Done parts are remembered; marks stay where they are.
 */
import type { Instant } from '../instant.ts'
import { type Asked, covers, partsNewestFirst } from '../plan/coverage.ts'
import type { Span } from '../plan/spans.ts'
import type { Scope } from './scope.ts'

export interface RefillWays {
  /** Reads a report without bounds, as its first run does. */
  readonly everything: () => Promise<void>
  readonly part: (span: Span) => Promise<void>
}

/**
 * Compares what was asked with what is asked now, before the run reads anything: what lies up to `mark` was read with
 * the old question. Gives the refill to carry out once the run has read what changed.
 */
export async function openCoverage(
  scope: Scope,
  mark: Instant | undefined,
): Promise<(ways: RefillWays) => Promise<void>> {
  const { config, scope: name } = scope.parts
  const { warehouse } = scope.rooms
  const asked: Asked = { start: config.start, filters: config.filters, expand: config.expand }
  const place = { report: config.name, scope: name }
  const held = await warehouse.coverage(place)
  const isCovered = held !== undefined && covers(held.asked, asked)
  const isNew = held === undefined || mark === undefined
  const until = isNew ? undefined : isCovered ? held.refillUntil : mark
  if (!isCovered) await warehouse.recordCoverage(place, { asked, refillUntil: until })
  return (ways) => (until === undefined ? Promise.resolve() : refill(scope, { asked, until }, ways))
}

async function refill(scope: Scope, owed: { asked: Asked; until: Instant }, ways: RefillWays): Promise<void> {
  const { config, declaration, scope: name } = scope.parts
  const { asked, until } = owed
  const place = { report: config.name, scope: name }
  await scope.intake.commit()
  const parts = declaration.window.required ? partsNewestFirst(config.start, until) : [undefined]
  for (const part of parts) {
    await (part === undefined ? ways.everything() : ways.part(part))
    await scope.intake.commit()
    const isLast = part === parts.at(-1)
    await scope.rooms.warehouse.recordCoverage(place, { asked, refillUntil: isLast ? undefined : part?.since })
  }
}
