/** The counts stored for a run: the sums over its loads. */
export type RunCounts = Readonly<typeof NO_RUN_COUNTS>

export const NO_RUN_COUNTS = { pages: 0, rows: 0, inserted: 0, updated: 0, deleted: 0, rejected: 0, misfits: 0 }

export const addLoadCounts = <Run extends RunCounts>(run: Run, loads: Omit<RunCounts, 'pages' | 'rows'>): Run => ({
  ...run,
  inserted: run.inserted + loads.inserted,
  updated: run.updated + loads.updated,
  deleted: run.deleted + loads.deleted,
  rejected: run.rejected + loads.rejected,
  misfits: run.misfits + loads.misfits,
})
