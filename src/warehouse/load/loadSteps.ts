/** Types that the steps of a load share. */
import type { Declaration } from '../../../schema/report.ts'
import type { ChildTable, ReportTable } from '../../../schema/tables.ts'
import type { ColumnChange, DiscoveredColumn } from '../../plan/columns.ts'
import type { CatalogField } from '../../staging/catalog.ts'
import type { Segment, StagedCollection } from '../../staging/spool.ts'
import type { HistoryStart } from '../tables/versions.ts'
import type { LoadInput, LoadRules } from './loadInput.ts'

export interface ColumnPlan {
  readonly columnChanges: readonly { readonly table: string; readonly changes: readonly ColumnChange[] }[]
  /** Returns a table's discovered columns, including those of `columnChanges`. */
  readonly discovered: (table: string) => readonly DiscoveredColumn[]
  /** The columns of the report's table, without system columns. */
  readonly tableColumns: readonly string[]
  /** The discovered columns, as text, before the changes in `columnChanges` are made. */
  readonly storedColumns: string
}

export interface PlannedLoad extends ColumnPlan {
  readonly input: LoadInput
  readonly report: Declaration
  readonly table: ReportTable
  readonly rules: LoadRules
  readonly numberPrefix: string
}

export interface FileLoad extends PlannedLoad {
  readonly segment: Segment
  readonly files: readonly string[]
}

export interface LoadTransaction extends PlannedLoad {
  readonly loadId: number
  readonly history: HistoryStart | undefined
  /** Undefined if the load has no rows, or does not stage them. */
  readonly staged: StagedRows | undefined
}

export type RowMerge = LoadTransaction & { readonly staged: StagedRows }

export interface StagedColumn {
  readonly name: string
  readonly value: string
  /** SQL that is true if a staged row `s` contains the field. */
  readonly carried: string
}

export interface CarriedCollection {
  readonly child: ChildTable
  readonly field: CatalogField
  /** The staged column that is not NULL if the row contains the collection. */
  readonly column: string
  readonly items: StagedCollection | undefined
}

export interface StagedFields {
  readonly columns: readonly StagedColumn[]
  readonly collections: readonly CarriedCollection[]
  /** True if the column `~misfits` may list values. */
  readonly mayMisfit: boolean
  readonly carries: (field: string) => string
}

export interface StagedRows extends StagedFields {
  readonly rejected: number
  readonly rows: number
  /** If a row was read several times, its older versions are in these tables. They are merged first, oldest first. */
  readonly earlier: readonly { readonly table: string; readonly rows: number }[]
}
