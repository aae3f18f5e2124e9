/**
 * Deletions that only a difference shows (budgets, spec §3): the service can include deleted rows but doesn't mark
 * them, so what is there with them and not without them is deleted. The read with them comes first: a row created in
 * between is then missing from neither. A row edited in between may leave the second read's window, so whatever is
 * missing is looked for once more among what was modified since; what that finds is remembered for the next window.
 */
import { type Instant, minusMs, plusMs } from '../instant.ts'
import { KeySet } from '../plan/keySet.ts'
import type { Span } from '../plan/spans.ts'
import { CLOCK_GRAIN_MS } from '../plan/window.ts'
import { ObjectCatalog } from '../staging/catalog.ts'
import { PageReader } from './pages.ts'
import type { Proven } from './prove.ts'
import type { Scope } from './scope.ts'
import { serviceClock } from './serviceClock.ts'

export interface Gone {
  /** Keys of deleted rows, each with all key columns. */
  readonly keys: (readonly (string | number)[])[]
  readonly pages: number
}

/** What was modified and not deleted while a scope was read, as far as it was asked for. */
interface Moved {
  readonly keys: KeySet
  /** The service's clock when it was asked. */
  until: Instant
}

const movedIn = new WeakMap<Scope, Moved>()

/** Which of the rows seen in `span`, with deleted ones included, are deleted. */
export async function goneKeys(scope: Scope, span: Span, seen: Proven): Promise<Gone> {
  if (seen.keys.size === 0) return { keys: [], pages: 0 }
  const { declaration, config, scope: currency } = scope.parts
  const startedAt = scope.reader.firstServedAt ?? scope.parts.window.clock
  // Only the keys are wanted, so nothing is expanded and nothing is staged.
  const reader = new PageReader(scope.rooms, {
    report: declaration,
    pageSize: config.pageSize,
    catalog: new ObjectCatalog(),
  })
  const question = { expand: [], filters: config.filters, currency, also: { includeDeleted: false } }
  const live = await scope.keysOf(reader, span, question)
  let missing = [...seen.keys].filter((key) => !live.some((part) => part.keys.has(key)))
  if (missing.length > 0) {
    const now = await serviceClock(scope.rooms, declaration, { currency })
    const moved = movedIn.get(scope) ?? { keys: new KeySet(), until: startedAt }
    movedIn.set(scope, moved)
    const since = minusMs(moved.until, CLOCK_GRAIN_MS)
    for (const part of await scope.keysOf(reader, { since, until: plusMs(now, CLOCK_GRAIN_MS) }, question)) {
      for (const key of part.keys) moved.keys.add(key)
    }
    moved.until = now
    missing = missing.filter((key) => !moved.keys.has(key))
  }
  return { keys: missing.map((key) => [key, currency]), pages: reader.pages }
}
