/**
 * Mutants: changes that break the code. If the simulation does not notice a mutant, the simulation has a gap. The text
 * to replace occurs in its file exactly once.
 */

import type { Fault } from '../../test/simulation/faults.ts'

export interface Mutant {
  /** Begins with `found:` if a seed has found this mistake in the code. */
  readonly name: string
  /** Only seeds with this fault can notice the mutant. */
  readonly needs?: Fault
  /** A test that fails for the mutant. Only for mutants that no tried seed notices. */
  readonly test?: string
  readonly file: string
  readonly from: string
  readonly to: string
}

/** The mutants, by area. */
export const MUTANTS: Readonly<Record<string, readonly Mutant[]>> = {
  'windows and marks': [
    {
      name: 'a window begins at the mark, without the overlap',
      file: 'src/plan/window.ts',
      from: 'since: minusMs(reached, rules.overlapMs)',
      to: 'since: reached',
    },
    {
      name: "the mark is ahead of the service's clock",
      file: 'src/plan/window.ts',
      from: 'const reached = earliest(window.until, minusMs(window.serviceTime, settleMs))',
      to: 'const reached = plusMs(window.serviceTime, settleMs + 5_000)',
    },
    {
      name: 'the mark may go back',
      file: 'src/warehouse/books/windows.ts',
      from: 'SET value = greatest(m.value, n.value),',
      to: 'SET value = n.value - INTERVAL 1 MINUTE,',
    },
    {
      name: 'the mark is committed before the rows',
      file: 'src/warehouse/load/load.ts',
      from: '  const result = await database.transaction(async (sql) => {',
      to: `  await database.transaction((sql) => closeWindows(sql, [{ report, loadId: 0, now: input.now, windows: input.closes ?? [] }]))
  const result = await database.transaction(async (sql) => {`,
    },
    {
      name: "windows end at our clock, not at the service's",
      file: 'src/client/serviceClock.ts',
      from: '    if (!this.#answered) return undefined\n',
      to: '    if (this.#answered) return this.#clock.now()\n    if (!this.#answered) return undefined\n',
    },
    {
      name: 'the first run requests only rows with a modification time',
      file: 'src/plan/window.ts',
      from: 'since: rules.sinceRequired ? rules.start : undefined',
      to: 'since: rules.start',
    },
    {
      name: 'rows that were never edited are not requested by time of creation',
      file: 'src/sync/walk/reading.ts',
      from: 'return this.plan.config.askCreated && this.plan.declaration.created !== undefined',
      to: 'return this.plan.config.askCreated && this.plan.declaration.created === undefined',
    },
  ],
  'pages and proofs': [
    {
      // Two independent checks prevent this mistake, so both are removed.
      name: 'a short page counts as the last one',
      file: 'src/plan/pagingProfile.ts',
      from: `  if (!isSurelyLastPage(profile, rowsSent, rowsAsked)) return 'unknown'
  const mayBeClamped = rowsSent >= rowsAsked * CLAMP_SHARE_MIN && rowsSent >= profile.longestPageRowsOfRun
  return checks && mayBeClamped ? 'unless clamped' : 'certain'`,
      to: "  return rows === rowsAsked ? 'unknown' : 'certain'",
    },
    {
      name: 'a page that is not full proves an envelope, although the total is higher',
      file: 'src/plan/judge.ts',
      from: '({ profile, walk }) => meetsTotal(walk) && !endsFull(walk, profile) &&',
      to: '({ settings, walk }) => walk.first.rows < settings.pageSize &&',
    },
    {
      name: '`agreed` needs only one walk',
      file: 'src/plan/sliceFacts.ts',
      from: `  walks.endedWithoutRepeats(walk, profile) &&
  walks.endedWithoutRepeats(previous, profile) &&
  walks.haveSameRows(walk, previous)`,
      to: '  walk.rows >= 0 && profile !== undefined',
    },
    {
      name: 'bare arrays are never read from page 0',
      file: 'src/plan/judge.ts',
      from: "return facts.isArrayUpToPage2(state) && state.settings.answer === 'array' && isUnknown &&",
      to: "return facts.isArrayUpToPage2(state) && state.settings.answer === 'array' && isUnknown && !state.settings.keyed &&",
    },
    {
      name: 'page 0 is not requested after page 1 was refused',
      file: 'src/sync/walk/pageSource.ts',
      from: 'if (!isRefusal(refusal)) throw refusal',
      to: 'if (refusal !== undefined) throw refusal',
    },
    {
      name: 'a refusal after the last page ends the run',
      file: 'src/sync/walk/pageSource.ts',
      from: '      if (!isRefusal(error)) throw error\n      this.pagesRead += 1',
      to: '      if (error !== undefined) throw error\n      this.pagesRead += 1',
    },
    {
      name: 'the number of the last page proves young spans too',
      test: 'test/sync/proof.test.ts',
      needs: 'editWhileReading',
      file: 'src/plan/sliceFacts.ts',
      from: 'state.settings.keyed && isOld(state) && state.slice.mayCount === true',
      to: 'state.settings.keyed && state.slice.span !== undefined && state.slice.mayCount === true',
    },
    {
      name: 'pages that were read before the last page was found are not read again',
      test: 'test/sync/enteringRows.test.ts',
      needs: 'stampsBack',
      file: 'src/sync/walk/proveSlice.ts',
      from: 'await walk.readBackwards(last.isComplete ? last.number - 1 : last.number)',
      to: `walk.record(reading.firstPages[0])
  await source.rows?.add(reading.firstPages[0])
  for (let n = last.isComplete ? last.number - 1 : last.number; n > 1; n -= 1) await source.rows?.add(await walk.readPage(n))`,
    },
    {
      name: 'the last page is not read again after the pages before it',
      test: 'test/sync/enteringRows.test.ts',
      file: 'src/sync/walk/probes/lastPage.ts',
      from: 'end !== undefined && (end.page.rowCount > rows || isNew(end))',
      to: 'end !== undefined && rows < 0',
      needs: 'stampsBack',
    },
    {
      name: '`total` proves a bare array with fewer rows than its pages have room for',
      needs: 'unstableOrder',
      file: 'src/plan/sliceFacts.ts',
      from: 'return walks.hasExactly(walk, total) ? walk',
      to: 'return walk.distinct <= total ? walk',
    },
    {
      name: 'after a cut, no span contains the second between two spans',
      file: 'src/plan/spans.ts',
      from: '    { since: at, until: span.until },',
      to: '    { since: Math.min(at + 1_000_000, span.until) as Instant, until: span.until },',
    },
    {
      name: 'of a span in which rows moved, only the first part is read',
      needs: 'deleteWhileReading',
      file: 'src/plan/sliceFacts.ts',
      from: 'parts: pagesEach === undefined ? splitByTotal(span, total, total / 2) : undefined',
      to: 'parts: splitByTotal(span, total, total / 2).slice(0, 1)',
    },
    {
      name: 'page 1 counts as all rows if page 2 repeats it',
      needs: 'pageNumberIgnored',
      file: 'src/plan/judge.ts',
      from: 'facts.mayHideRows(state) && state.probes.narrower === undefined &&',
      to: "facts.mayHideRows(state) && state.probes.narrower === 'moved' &&",
    },
    {
      name: 'a slice with too many rows becomes only a little shorter',
      file: 'src/plan/slicePlan.ts',
      from: 'return Math.max(1, Math.floor(Math.min(wanted, most)))',
      to: 'return Math.max(1, length - 1)',
    },
    {
      name: 'found: the last page, repeated for a higher number, counts as rows that were returned twice',
      file: 'src/plan/walk.ts',
      from: 'if (page.isRepeat === true) return afterRepeat(walk, page)',
      to: 'if (page.isRepeat === true && page.pageNumber < 0) return afterRepeat(walk, page)',
    },
  ],
  'which version is newer': [
    {
      name: 'a row that was requested later does not replace a stored row with a later stamp',
      needs: 'stampsBack',
      file: 'src/warehouse/load/merge.ts',
      from: 'WHEN ${isLaterSql(fresh, stored, settleMs)} OR',
      to: 'WHEN',
    },
    {
      name: 'a row that was requested earlier replaces the stored row if its stamp is later',
      test: 'test/warehouse/versions.test.ts',
      needs: 'stampsBack',
      file: 'src/warehouse/load/merge.ts',
      from: 'WHEN ${isLaterSql(stored, fresh, settleMs)} AND',
      to: 'WHEN false AND',
    },
    {
      name: 'a row that was requested earlier always replaces the stored row',
      needs: 'backfill',
      file: 'src/warehouse/load/merge.ts',
      from: 'AND NOT ${isAhead(0)} THEN false',
      to: 'AND NOT ${isAhead(0)} THEN true',
    },
    {
      name: 'the row that is loaded last wins',
      file: 'src/warehouse/load/merge.ts',
      from: `      AND (t._row_hash IS DISTINCT FROM s."~row_hash"`,
      to: `      OR (t._row_hash IS DISTINCT FROM s."~row_hash"`,
    },
    {
      name: 'a stamp in the future decides which row is newer',
      test: 'test/warehouse/versions.test.ts',
      needs: 'futureStamp',
      file: 'src/warehouse/load/rowVersion.ts',
      from: '`${observedAt} + INTERVAL ${CLOCK_GRAIN_MS} MILLISECONDS`',
      to: '`${observedAt} + INTERVAL 2000 YEARS`',
    },
    {
      name: 'found: a late change is ignored if its stamp is before a wrong stamp',
      test: 'test/warehouse/versions.test.ts',
      needs: 'futureStamp',
      file: 'src/warehouse/load/rowVersion.ts',
      from: '`CASE WHEN ${isWrong} THEN',
      to: '`CASE WHEN ${isWrong} AND false THEN',
    },
  ],
  'deleted rows and counts': [
    {
      name: 'events without the flag `isDeleted` are never marked as deleted',
      needs: 'summaryShape',
      file: 'src/warehouse/load/merge.ts',
      from: '${gone ?? staysDeleted}, false)`',
      to: '${staysDeleted}, false)`',
    },
    {
      name: 'events without the flag `isDeleted` are loaded before the second read',
      needs: 'summaryShape',
      file: 'src/sync/intake.ts',
      from: 'this.#options.report.includeDeleted !== undefined && page',
      to: 'this.#options.report.includeDeleted === undefined && page',
    },
    {
      name: 'a row that the second and the third read lack is marked as deleted',
      file: 'src/sync/walk/difference.ts',
      from: "?? [''])])",
      to: '?? [])])',
    },
    {
      name: 'a row that the third read returns with another stamp is marked as deleted',
      test: 'test/sync/difference.test.ts',
      needs: 'stampsBack',
      file: 'src/warehouse/load/merge.ts',
      from: `gone_keys g WHERE g."~stamp" IS NULL)`,
      to: `gone_keys g WHERE g."~stamp" < 'infinity')`,
    },
    {
      name: 'items that left their collection are not marked as deleted',
      file: 'src/warehouse/load/children.ts',
      from: 'SELECT c.* REPLACE (true AS is_deleted,',
      to: 'SELECT c.* REPLACE (c.is_deleted AS is_deleted,',
    },
    {
      name: 'rows that a filter leaves out count as absent',
      needs: 'questionChanged',
      file: 'src/warehouse/load/reconcile.ts',
      from: "  if (Object.keys(asked.filters).length > 0) return 'false'\n",
      to: "  if (Object.keys(asked.filters).length > 9) return 'false'\n",
    },
    {
      name: 'runs ignore counts that differ',
      file: 'src/sync/counting.ts',
      from: 'const isEqual = total === undefined ||',
      to: 'const isEqual = total !== undefined ||',
    },
    {
      name: 'rows outside the compared span of creation count as absent',
      file: 'src/warehouse/load/counting.ts',
      from: 'const isAbsent = isWhole ?',
      to: 'const isAbsent = isWhole || range.since !== range.until ?',
    },
  ],
  'loads and values': [
    {
      name: 'a transaction commits although a statement failed',
      file: 'src/warehouse/database/duckdb.ts',
      from: `await this.#execute('ROLLBACK').catch(() => undefined)`,
      to: `await this.#execute('COMMIT').catch(() => this.#execute('ROLLBACK').catch(() => undefined))`,
    },
    {
      name: 'stored audit entries are added again',
      file: 'src/warehouse/load/auditEntries.ts',
      from: '    WHERE s.rowid NOT IN (SELECT sid FROM unchanged_entries)) s`',
      to: '    WHERE true) s`',
    },
    {
      name: 'found: a row that has a field twice counts as a row without a key',
      test: 'test/staging/scanPage.test.ts',
      needs: 'malformedRows',
      file: 'src/staging/scanPage.ts',
      from: 'if (rowKey !== undefined) this.#keys.push(rowKey)',
      to: 'if (rowKey !== undefined && reason === undefined) this.#keys.push(rowKey)',
    },
    {
      name: 'a value that does not fit is not listed',
      needs: 'malformedRows',
      file: 'src/warehouse/load/misfits.ts',
      from: 'if (staged.mayMisfit) await',
      to: 'if (staged.mayMisfit && isAudit) await',
    },
    {
      name: 'a misfit stays listed after its row has a value that fits',
      needs: 'malformedRows',
      file: 'src/warehouse/load/misfits.ts',
      from: 'if (stored.length > 0) await',
      to: 'if (stored.length > 0 && isAudit) await',
    },
    {
      name: 'a load does not see the columns that an earlier load has made',
      file: 'src/warehouse/database/queryCache.ts',
      from: '/\\btidemark\\.\\w+|',
      to: '/\\btidemark\\.(?!columns|schema_changes)\\w+|',
    },
    {
      name: 'a copy of a damaged file is published',
      needs: 'damagedFile',
      file: 'src/warehouse/publish/publish.ts',
      from: 'if (damaged.length > 0) await',
      to: 'if (damaged.length < 0) await',
    },
  ],
  'changes of the configuration': [
    {
      name: 'when the configuration requests more, old rows are not read again',
      needs: 'questionChanged',
      file: 'src/plan/coverage.ts',
      from: '  if (changes.length > 0) {\n    const before',
      to: '  if (changes.length > 9) {\n    const before',
    },
    {
      name: 'collections that were switched off for a while count as read',
      needs: 'questionChanged',
      file: 'src/plan/coverage.ts',
      from: 'return isSame ? earlier : ',
      to: 'return isSame || start === earlier.settings.start ? earlier : ',
    },
    {
      name: 'a failed run forgets which rows to read again',
      test: 'test/reconcile/coverage.test.ts',
      needs: 'questionChanged',
      file: 'src/sync/refill.ts',
      from: '    for await (const slice of part === undefined',
      to: '    await record(undefined)\n    for await (const slice of part === undefined',
    },
    {
      name: 'one run reads only the newest part of the old rows again',
      needs: 'questionChanged',
      file: 'src/sync/refill.ts',
      from: 'if (part !== parts.at(-1)) await record(part?.since)',
      to: 'if (part !== parts.at(-1)) return record(part?.since)',
    },
    {
      name: 'a currency begins at the mark of another one',
      needs: 'questionChanged',
      file: 'src/warehouse/books/windows.ts',
      from: 'WHERE ${isHere} AND ${IS_WINDOW_MARK}',
      to: "WHERE report = ${text(report)} AND (scope = ${text(scope)} OR scope <> '') AND ${IS_WINDOW_MARK}",
    },
  ],
  'runs, backfills and tokens': [
    {
      name: 'a run commits although a newer run has begun',
      file: 'src/warehouse/books/fences.ts',
      from: 'if (newest === undefined || newest.epoch > epoch)',
      to: 'if (newest === undefined)',
    },
    {
      name: 'a backfill records windows as done that it did not load',
      file: 'src/sync/backfill/handover.ts',
      from: 'for (const input of inputs) {',
      to: 'for (const { segment: _, ...input } of inputs) {',
    },
    {
      name: 'a token is requested for each request',
      file: 'src/client/tokens.ts',
      from: 'return token !== undefined && this.#dependencies.clock.monotonicMs() < token.renewAtMs ? token : undefined',
      to: 'return token !== undefined && this.#dependencies.clock.monotonicMs() > token.renewAtMs ? token : undefined',
    },
  ],
}
