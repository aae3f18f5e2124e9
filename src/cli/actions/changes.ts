/** `tidemark changes`: prints the rows that have changed since a cursor, and then the next cursor. */
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { SyncError } from '../../errors.ts'
import type { Changes } from '../../operations/readChanges.ts'
import { type Cursor, isCursor, START } from '../../warehouse/books/cursor.ts'
import { namedReports } from '../../operations/reportSelection.ts'
import { csvPrinter } from '../results.ts'
import type { Action, CommandOptions, Shell } from '../shell.ts'
import { tidemarkOf } from '../performAndPrint.ts'
import { outputOf, writeResult } from './query.ts'

export interface ChangesOptions extends CommandOptions {
  readonly since?: string
  readonly cursorFile?: string
  readonly children?: boolean
  readonly follow?: boolean
  readonly format: 'json' | 'csv' | 'parquet'
  readonly output?: string
}

const LOOK_EVERY_MS = 2_000

export const changes: Action<ChangesOptions> = async (shell, options, names) => {
  const { config, format, children = false, follow = false, cursorFile = '' } = options
  const reports = namedReports(names)
  const output = outputOf(options)
  if (format !== 'json' && (reports.length > 1 || children || (follow && format === 'parquet'))) {
    throw new SyncError('USAGE_INVALID', `${format} has the changes of one table, and parquet cannot be followed`, {
      cure: 'Name one report without --children (and without --follow for parquet), or use --format json.',
    })
  }
  const { clock, stop, cwd } = shell
  await using tidemark = tidemarkOf(shell, options)
  if (follow) stop.endsWell()
  const print = printerOf(shell, format, path.resolve(cwd, output))
  const file = path.resolve(cwd, cursorFile)
  const isStored = cursorFile !== '' && existsSync(file)
  let since = isStored ? await storedCursor(file, reports) : (options.since ?? START)
  const off = reports.filter((report) => !config.reports[report].enabled)
  if (off.length > 0) shell.err.write(`${off.join(', ')}: off, so no run reads new changes (tidemark status)\n`)
  for (let isFirst = true; ; isFirst = false) {
    if (!isFirst && follow) await clock.sleep(LOOK_EVERY_MS, stop.signal).catch(() => undefined)
    if (!isFirst && (!follow || stop.signal.aborted)) return 0
    await using feed = await tidemark.openChanges(reports, { children, since, signal: stop.signal })
    if (feed.cursor === since && !isFirst) continue
    await print(feed)
    since = feed.cursor
    // Writes the cursor last. If the program ends before this line, the next call returns the same rows again.
    if (cursorFile !== '')
      await writeResult(file, (temporary) => writeFile(temporary, `${since} ${reports.join(' ')}\n`))
  }
}

/** Returns the stored cursor. Throws if a report is new: the cursor would skip the older changes of this report. */
async function storedCursor(file: string, reports: readonly string[]): Promise<Cursor> {
  const [cursor = '', ...stored] = (await readFile(file, 'utf8').catch(() => '')).trim().split(' ')
  const added = reports.filter((report) => !stored.includes(report))
  if (isCursor(cursor) && (stored.length === 0 || added.length === 0)) return cursor
  throw new SyncError('USAGE_INVALID', `${file} is no cursor file of ${added.join(', ')}`, {
    cure: 'Use a cursor file for each list of reports, or a new file to begin with all rows.',
  })
}

function printerOf({ out, err }: Shell, format: ChangesOptions['format'], output: string) {
  const csv = csvPrinter(out)
  return async ({ cursor, read, readCells, writeParquet }: Changes): Promise<void> => {
    if (format === 'json') {
      await read((changes) => {
        out.write(changes.map((change) => `${change}\n`).join(''))
        return out.drained()
      })
      out.write(`${JSON.stringify({ cursor })}\n`)
    } else if (format === 'csv') csv.end(await readCells(csv.take))
    else await writeResult(output, writeParquet)
    if (format !== 'json') err.write(`next cursor: ${cursor}\n`)
    await out.drained()
  }
}
