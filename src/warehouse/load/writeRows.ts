/** Writes a load's rows and items. Audit entries replace whole windows. Other rows replace rows with equal keys. */
import type { ReportTable } from '../../../schema/tables.ts'
import { assert } from '../../errors.ts'
import type { Instant } from '../../instant.ts'
import { entryWindowsSql, goneKeysSql } from './inputTables.ts'
import type { Sql } from '../database/sql.ts'
import { type History, historyOf } from '../tables/versions.ts'
import { mergeChildren } from './children.ts'
import { type ColumnPlan, filledColumns } from './columnPlan.ts'
import { mergeInOrder } from './duplicates.ts'
import { dropEntries, mergeEntries } from './auditEntries.ts'
import { goneKeysOf, isReadEarlier, type LoadInput } from './loadInput.ts'
import { merge, type MergeCounts, type LoadCounts, addCounts } from './merge.ts'
import { CREATE_FOUND_MISFITS, recordMisfits } from './misfits.ts'
import { insertNew, NotAllNew } from './newRows.ts'
import { NO_RULES, throwAsLoadRefused, type StagedRows, type StageInput } from './stage.ts'

export interface LoadRows {
  /** Set if all rows are probably new. The load then inserts them from their file without staging. */
  readonly allNew?: StageInput | undefined
  readonly staged?: StagedRows | undefined
}

export interface WriteContext {
  readonly input: LoadInput
  readonly table: ReportTable
  readonly plan: ColumnPlan
  readonly numberMark: string
  readonly loadId: number
}

export const NO_COUNTS = { inserted: 0, updated: 0, unchanged: 0, deleted: 0, childrenWritten: 0, misfits: 0 }

/** Writes the rows. Throws `NotAllNew` if a row of `allNew` is not new. */
export async function writeRows(sql: Sql, writing: WriteContext, { allNew, staged }: LoadRows): Promise<LoadCounts> {
  if (allNew !== undefined) return writeNew(sql, writing, allNew)
  if (staged === undefined && entryWindowsOf(writing.input) === undefined) return NO_COUNTS
  const merging = { ...writing, history: await historyOf(sql, writing.input.report.name) }
  return staged === undefined ? deleteWindowEntries(sql, merging) : mergeAll(sql, merging, staged)
}

async function writeNew(sql: Sql, { table, plan, loadId }: WriteContext, parts: StageInput): Promise<LoadCounts> {
  const tableColumns = filledColumns(table, plan)
  const written = await insertNew(sql, { ...parts, tableColumns, loadId }).catch(throwAsLoadRefused(parts))
  if (written === undefined) throw new NotAllNew()
  return { ...NO_COUNTS, ...written }
}

interface MergeContext extends WriteContext {
  readonly history: History | undefined
}

const keepsColumnsOnly = ({ rules }: LoadInput): boolean => rules?.excludePayload === true

const entryWindowsOf = (input: LoadInput) =>
  input.kind === 'audit' || input.kind === 'retry' ? input.entryWindows : undefined

const serviceTime = (input: LoadInput): Instant =>
  input.kind === 'retry' ? input.now : (input.serviceNow ?? input.now)

async function deleteWindowEntries(sql: Sql, { input, table, history, loadId }: MergeContext): Promise<LoadCounts> {
  await sql.run(entryWindowsSql(table, entryWindowsOf(input) ?? []))
  return { ...NO_COUNTS, ...(await dropEntries(sql, table, { history, at: serviceTime(input), loadId })) }
}

async function mergeAll(sql: Sql, merging: MergeContext, staged: StagedRows): Promise<LoadCounts> {
  const all = await mergeInOrder(sql, staged, async (rows) => {
    const some = { ...staged, rows }
    await sql.run(CREATE_FOUND_MISFITS)
    const merged = await mergeStaged(sql, merging, some)
    const isAnyWritten = merged.inserted + merged.updated > 0
    const childrenWritten = isAnyWritten ? await mergeCollections(sql, { ...merging, merged }, some) : 0
    const { input, table, loadId } = merging
    const recording = { report: input.report, table, staged: some, loadId, excludePayload: keepsColumnsOnly(input) }
    return { ...merged, childrenWritten, misfits: await recordMisfits(sql, recording) }
  })
  return all.reduce(addCounts)
}

async function mergeStaged(sql: Sql, merging: MergeContext, staged: StagedRows): Promise<MergeCounts> {
  const { input, table, plan, numberMark, loadId, history } = merging
  const { report, rules = NO_RULES } = input
  const tableColumns = filledColumns(table, plan)
  const entryWindows = entryWindowsOf(input)
  if (entryWindows !== undefined) {
    await sql.run(entryWindowsSql(table, entryWindows))
    const dropped = { history, at: serviceTime(input), loadId }
    return mergeEntries(sql, { table, staged, tableColumns, gone: dropped })
  }
  const gone = goneKeysOf(input)
  if (gone !== undefined) await sql.run(goneKeysSql(table, gone))
  const knowsGone = gone !== undefined
  const given = { report, table, staged, tableColumns, loadId, numberMark, knowsGone, history }
  const serviceNow = input.kind === 'retry' ? undefined : input.serviceNow
  const previousRead = input.kind === 'changes' ? input.previousRead : undefined
  return merge(sql, { ...given, serviceNow, previousRead, settleMs: rules.settleMs, keepsStored: isReadEarlier(input) })
}

async function mergeCollections(
  sql: Sql,
  { input, table, plan, loadId, numberMark, merged, history }: MergeContext & { readonly merged: MergeCounts },
  staged: StagedRows,
): Promise<number> {
  const given = { table, replaces: merged.updated > 0, excludePayload: keepsColumnsOnly(input) }
  let written = 0
  for (const collection of staged.collections) {
    const child = table.children.find((each) => each.field === collection.field.name)
    assert(child !== undefined, `${collection.field.name} is no collection of ${table.name}`)
    const discovered = plan.columns(child.name)
    written += await mergeChildren(sql, { ...given, ...collection, child, discovered, loadId, numberMark, history })
  }
  return written
}
