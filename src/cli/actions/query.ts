/** `tidemark query`: runs one SELECT on the published copy, and prints the result or writes it to a file. */
import { statSync } from 'node:fs'
import { realpath, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { attempt, SyncError, usageError } from '../../errors.ts'
import { replaceFile } from '../../files.ts'
import { counted } from '../layout.ts'
import { type Format, printerOf } from '../results.ts'
import type { Action, CommandOptions, Shell } from '../shell.ts'
import { tidemarkOf } from '../performAndPrint.ts'

export interface QueryOptions extends CommandOptions {
  readonly format: Format | 'parquet'
  readonly output?: string
  readonly limit: number
}

export const query: Action<QueryOptions, string> = async (shell, options, sql) => {
  const { out, stop, cwd } = shell
  const { signal } = stop
  const { format, limit, json = false } = options
  const output = outputOf(options)
  // Ignores a copy that cannot be read, because the query itself then fails with the reason.
  await warnOfOldCopy(shell, options).catch(() => undefined)
  await using tidemark = tidemarkOf(shell, options)
  if (format === 'parquet') {
    const rows = await writeResult(path.resolve(cwd, output), (file) => tidemark.writeParquet(sql, file, { signal }))
    out.write(`${counted(rows, 'row')} written to ${output}\n`)
  } else {
    const printer = printerOf(json ? 'document' : format, out, limit)
    const { columns, warrants } = await tidemark.queryCells(sql, printer.take, { signal })
    printer.end(columns, warrants)
  }
  return 0
}

/** Returns the file's modification time. Returns 0 if this user may not read it, which `query` does not need. */
const timeOf = (file: string): number => attempt(() => statSync(file).mtimeMs, 0)

async function warnOfOldCopy({ err }: Shell, { config }: CommandOptions): Promise<void> {
  if (config.lake !== undefined || timeOf(config.warehouse) <= timeOf(config.published)) return
  const { findDifference } = await import('../check/files.ts')
  const { openPublished } = await import('../../wiring/published.ts')
  await using copy = await openPublished(config)
  const stale = await findDifference(config, copy)
  if (stale !== undefined) err.write(`warning: ${copy.path}: ${stale.what}. ${stale.cure}\n`)
}

export function outputOf({ format, output }: Pick<QueryOptions, 'format' | 'output'>): string {
  if (format === 'parquet' && output === undefined) {
    const cure = 'Add --output FILE, such as --output result.parquet.'
    throw usageError('the format parquet needs a file, and --output is missing', cure)
  }
  if (format !== 'parquet' && output !== undefined) {
    const cure = `Add --format parquet, or send the output to a file: --format ${format} … > ${output}`
    throw usageError(`--output is for parquet; ${format} is printed`, cure)
  }
  return output ?? ''
}

export async function writeResult<T>(file: string, write: (temporary: string) => Promise<T>): Promise<T> {
  try {
    // Otherwise a link would be replaced, or a device such as /dev/stdout.
    const place = await realpath(file).catch(() => file)
    if (!(statSync(place, { throwIfNoEntry: false })?.isFile() ?? true)) throw new TypeError('it is no file')
    return await replaceFile(place, async (temporary) => {
      await writeFile(temporary, '')
      return write(temporary)
    })
  } catch (error) {
    if (error instanceof SyncError) throw error
    throw new SyncError('USAGE_INVALID', `${file} cannot be written: ${(error as Error).message}`, {
      cure: 'Name a file in a folder that is there and can be written.',
      cause: error,
    })
  }
}
