/** Readers open only files that the manifest names, so a new manifest replaces all tables at once. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { SyncError } from '../../errors.ts'

export const MANIFEST = 'manifest.json'

const File = z.object({
  /** The path relative to the manifest's folder, with `/` as the separator on every system. */
  path: z.string(),
  /** The range of keys, both ends included. Example: `0-99999`. For a table without rows, this is an empty string. */
  keys: z.string(),
  rows: z.number(),
  deleted: z.number(),
  bytes: z.number(),
  /** A hash that changes when the rows of the range change. */
  fingerprint: z.string(),
})

const Table = z.object({
  name: z.string(),
  report: z.string(),
  comment: z.string(),
  columns: z.array(z.object({ name: z.string(), type: z.string(), comment: z.string() })),
  /** Each file contains the rows of one range of `width` keys. */
  partition: z.object({ column: z.string(), width: z.string() }),
  rows: z.number(),
  bytes: z.number(),
  files: z.array(File),
})

const ManifestShape = z.object({
  format: z.literal('tidemark-export'),
  version: z.literal(1),
  generation: z.number(),
  exported_at: z.string(),
  source: z.object({
    /** Identifies the warehouse and never changes. */
    warehouse: z.string(),
    published: z.string(),
    state: z.string(),
    last_load_id: z.number(),
    duckdb: z.string(),
  }),
  reports: z.array(z.string()),
  marks: z.array(z.object({ report: z.string(), scope: z.string(), mark: z.string(), value: z.string() })),
  tables: z.array(Table),
  /** Files that only an earlier manifest names. */
  retired: z.array(z.string()),
})

export type Manifest = z.infer<typeof ManifestShape>
export type ExportedTable = z.infer<typeof Table>
export type ExportedFile = z.infer<typeof File>

/** Reads the manifest of a folder, if there is one. Throws EXPORT_REFUSED if the file has another format. */
export async function readManifest(folder: string): Promise<Manifest | undefined> {
  const path = join(folder, MANIFEST)
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  if (text === undefined) return undefined
  try {
    return ManifestShape.parse(JSON.parse(text))
  } catch (error) {
    throw new SyncError('EXPORT_REFUSED', `${path} is no manifest that this version of Tidemark has written`, {
      cure: 'Export to another folder, or to an empty one. Nothing in this one was changed.',
      data: { path },
      cause: error,
    })
  }
}

export const filesOf = (manifest: Pick<Manifest, 'tables'> | undefined): string[] =>
  (manifest?.tables ?? []).flatMap(({ files }) => files.map(({ path }) => path))
