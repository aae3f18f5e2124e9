/** Types that the steps of a load share. `Reading` adds the segment to `Loading`, `Writing` adds the load's number. */
import type { Declaration } from '../../../schema/report.ts'
import type { ChildTable, ReportTable } from '../../../schema/tables.ts'
import type { ColumnChange, DiscoveredColumn } from '../../plan/columns.ts'
import type { CatalogField } from '../../staging/catalog.ts'
import type { Segment, StagedCollection } from '../../staging/spool.ts'
import type { HistoryStart } from '../tables/versions.ts'
import type { LoadInput, LoadRules } from './loadInput.ts'

export interface ColumnPlan {
  readonly columnChanges: readonly { readonly table: string; readonly changes: readonly ColumnChange[] }[]
  /** Returns the discovered columns of a table as they will be after `columnChanges`. */
  readonly discovered: (table: string) => readonly DiscoveredColumn[]
  /** The columns of the report's table, without Tidemark's own columns such as `_load_id`. */
  readonly tableColumns: readonly string[]
}

export interface Loading extends ColumnPlan {
  readonly input: LoadInput
  readonly report: Declaration
  readonly table: ReportTable
  readonly rules: LoadRules
  readonly numberMark: string
}

/** A load that reads its rows from the files of a segment. */
export interface Reading extends Loading {
  readonly segment: Segment
  /** The segment's own file, or several files if rows are long. */
  readonly files: readonly string[]
}

/** A load whose transaction is running. */
export interface Writing extends Loading {
  readonly loadId: number
  readonly history: HistoryStart | undefined
  /** Undefined if the load has no rows, or does not stage them. */
  readonly staged: StagedRows | undefined
}

export type Merging = Writing & { readonly staged: StagedRows }

export interface StagedColumn {
  readonly name: string
  readonly value: string
  /** SQL that is true if a row `s` of the table `staged` contains the field. */
  readonly carried: string
}

export interface CarriedCollection {
  readonly child: ChildTable
  readonly field: CatalogField
  /** The column of the temporary table `staged` that is not NULL if the row contains the collection. */
  readonly column: string
  readonly items: StagedCollection | undefined
}

export interface RowReading {
  readonly columns: readonly StagedColumn[]
  readonly collections: readonly CarriedCollection[]
  /** True if some values may not fit their columns. The column `~misfits` of `staged` lists these values. */
  readonly mayMisfit: boolean
  /** Returns SQL that is true if the service sent this field in a row `s` of the table `staged`. */
  readonly carries: (field: string) => string
}

export interface StagedRows extends RowReading {
  readonly rejected: number
  readonly rows: number
  /** Tables with older versions of the rows in `staged`, oldest table first. Each is merged before `staged`. */
  readonly earlier: readonly { readonly table: string; readonly rows: number }[]
}
