/** Writes a load's rows and items. Audit entries replace whole windows. Other rows replace rows with equal keys. */
import type { Sql } from '../database/sql.ts'
import { mergeEntries } from './auditEntries.ts'
import { mergeChildren } from './children.ts'
import { type LoadCounts, NO_COUNTS } from './loadInput.ts'
import type { Writing } from './loading.ts'
import { addCounts, merge } from './merge.ts'
import { CREATE_FOUND_MISFITS, recordMisfits } from './misfits.ts'
import { mergeInOrder } from './rowVersion.ts'

/** Writes the staged rows. Without staged rows, only deletes the entries of audit windows. */
export async function writeRows(sql: Sql, load: Writing): Promise<LoadCounts> {
  const { staged } = load
  const { entryWindows } = load.input
  if (staged === undefined)
    return entryWindows === undefined ? NO_COUNTS : { ...NO_COUNTS, ...(await mergeEntries(sql, load, entryWindows)) }
  const all = await mergeInOrder(sql, staged, async (rows) => {
    const some = { ...load, staged: { ...staged, rows } }
    await sql.run(CREATE_FOUND_MISFITS)
    const merged = entryWindows === undefined ? await merge(sql, some) : await mergeEntries(sql, some, entryWindows)
    const isAnyWritten = merged.inserted + merged.updated > 0
    const childrenWritten = isAnyWritten ? await mergeChildren(sql, some, merged.updated > 0) : 0
    return { ...merged, childrenWritten, misfits: await recordMisfits(sql, some) }
  })
  return all.reduce(addCounts)
}
