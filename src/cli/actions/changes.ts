/** `tidemark changes`: prints the rows that have changed since a cursor, and then the next cursor. */
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { usageError } from '../../errors.ts'
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
  const { clock, stop, cwd } = shell
  const reports = namedReports(names)
  const print = printerOf(shell, format, path.resolve(cwd, outputOf(options)))
  checkFormat(options, reports)
  await using tidemark = tidemarkOf(shell, options)
  if (follow) stop.endsWell()
  const file = cursorFile === '' ? undefined : path.resolve(cwd, cursorFile)
  const content = children ? [...reports, '--children'] : reports
  const begin = file !== undefined && existsSync(file) ? await storedCursor(file, content) : (options.since ?? START)
  const off = reports.filter((report) => !config.reports[report].enabled)
  if (off.length > 0) shell.err.write(`${off.join(', ')}: off, so no run reads new changes (tidemark status)\n`)
  const looksAgain = async () => {
    if (!follow) return false
    await clock.sleep(LOOK_EVERY_MS, stop.signal).catch(() => undefined)
    return !stop.signal.aborted
  }
  let printed: string | undefined
  do {
    await using feed = await tidemark.openChanges(reports, { children, since: printed ?? begin, signal: stop.signal })
    if (feed.cursor === printed) continue
    await print(feed)
    printed = feed.cursor
    // Writes the cursor last. If the program ends before this line, the next call returns the same rows again.
    if (file !== undefined) await writeResult(file, (part) => writeFile(part, `${feed.cursor} ${content.join(' ')}\n`))
  } while (await looksAgain())
  return 0
}

function checkFormat({ format, children = false, follow = false }: ChangesOptions, reports: readonly string[]): void {
  if (format === 'json') return
  if (reports.length === 1 && !children && !(follow && format === 'parquet')) return
  const cure = 'Name one report without --children (and without --follow for parquet), or use --format json.'
  throw usageError(`${format} has the changes of one table, and parquet cannot be followed`, cure)
}

/** Returns the stored cursor. Throws if a report or `--children` is new: the cursor would skip their older changes. */
async function storedCursor(file: string, content: readonly string[]): Promise<Cursor> {
  const [cursor = '', ...stored] = (await readFile(file, 'utf8').catch(() => '')).trim().split(' ')
  const added = content.filter((each) => !stored.includes(each))
  if (isCursor(cursor) && (stored.length === 0 || added.length === 0)) return cursor
  const cure = 'Use one cursor file per list of reports, with or without --children. A new file begins with all rows.'
  throw usageError(`${file} is no cursor file of ${added.join(', ')}`, cure)
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
