/** What loads did, added up. */
export interface Figures {
  rows: number
  inserted: number
  updated: number
  deleted: number
  rejected: number
  childrenWritten: number
  /** Columns that were added or widened. */
  schemaChanges: number
  /** Fields that no column was given, as `table.field`: by a frozen contract, or at the limit; each told once. */
  frozen: readonly string[]
  /** Rows that the windows before had asked for and not been shown. */
  late: number
  /** How long after its stamp the latest of them came, at least. */
  latenessMs: number
}

export const noFigures = (): Figures => ({
  rows: 0,
  inserted: 0,
  updated: 0,
  deleted: 0,
  rejected: 0,
  childrenWritten: 0,
  schemaChanges: 0,
  frozen: [],
  late: 0,
  latenessMs: 0,
})

/** Adds what one part of a run did to what the parts before it did. */
export function addFigures(sum: Figures, part: Figures): void {
  const latenessMs = Math.max(sum.latenessMs, part.latenessMs)
  for (const figure of Object.keys(sum) as (keyof Figures)[]) if (figure !== 'frozen') sum[figure] += part[figure]
  sum.latenessMs = latenessMs
  sum.frozen = [...sum.frozen, ...part.frozen]
}
