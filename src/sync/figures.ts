/** What loads did, added up. */
export interface Figures {
  rows: number
  inserted: number
  updated: number
  deleted: number
  rejected: number
  childrenWritten: number
  schemaChanges: number
}

export const noFigures = (): Figures => ({
  rows: 0,
  inserted: 0,
  updated: 0,
  deleted: 0,
  rejected: 0,
  childrenWritten: 0,
  schemaChanges: 0,
})
