/**
 * Deletions that only a difference shows (budgets, spec §3): the service can include deleted rows but doesn't mark
 * them, so what is there with them and not without them is deleted. The read with them comes first: a row created in
 * between is then missing from neither. A row edited in between may leave the second read's window, so whatever is
 * missing is looked for once more among what was modified since.
 */
import type { Declaration } from '../../schema/report.ts'
import type { ReportConfig } from '../config/config.ts'
import { minusMs } from '../instant.ts'
import type { KeySet } from '../plan/keySet.ts'
import type { Bounds } from '../plan/question.ts'
import { CLOCK_GRAIN_MS, type Window } from '../plan/window.ts'
import { ObjectCatalog } from '../staging/catalog.ts'
import type { Rooms } from './rooms.ts'
import { type Walked, walk } from './walk.ts'

export interface DifferenceParts {
  readonly declaration: Declaration
  readonly config: ReportConfig
  readonly scope: string
  readonly window: Window
  /** The walk that included deleted rows. */
  readonly seen: Walked
}

export interface Gone {
  /** Keys of deleted rows, each with all key columns; undefined where the report shows deletions in another way. */
  readonly keys: (readonly (string | number)[])[] | undefined
  readonly pages: number
}

export async function goneKeys(rooms: Rooms, parts: DifferenceParts): Promise<Gone> {
  const { declaration, window, seen, scope } = parts
  if (declaration.deletes !== 'diff') return { keys: undefined, pages: 0 }
  const live = await walkLive(rooms, parts, { since: window.since, until: undefined })
  let missing = missingFrom(seen.state.keys, live.state.keys)
  let pages = live.pages
  if (missing.length > 0) {
    const since = minusMs(seen.firstServedAt, CLOCK_GRAIN_MS)
    const moved = await walkLive(rooms, parts, { since, until: undefined })
    pages += moved.pages
    missing = missing.filter((key) => !moved.state.keys.has(key))
  }
  return { keys: missing.map((key) => keyColumns(key, scope)), pages }
}

/** Only the keys are wanted, so nothing is expanded. */
function walkLive(rooms: Rooms, { declaration, config, scope }: DifferenceParts, window: Bounds): Promise<Walked> {
  return walk(rooms, {
    report: declaration,
    question: { expand: [], filters: config.filters, currency: scope, window, also: { includeDeleted: false } },
    pageSize: config.pageSize,
    catalog: new ObjectCatalog(),
    onPage: () => Promise.resolve(),
  })
}

function missingFrom(seen: KeySet, live: KeySet): (string | number)[] {
  return [...seen].filter((key) => !live.has(key))
}

const keyColumns = (key: string | number, scope: string): (string | number)[] => [key, scope]
