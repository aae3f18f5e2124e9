/** What `tidemark status` does: it reads the books of the newest file that can be read. */
import { configOf } from '../configOf.ts'
import { askWorker, depthText, nextText } from '../workerStatus.ts'
import { unownedText } from '../control/unowned.ts'
import { openNewest } from '../../wiring/published.ts'
import type { ExitCode, Shell } from '../shell.ts'
import { type Standing, standingDocument, standingsOf } from '../../status/standing.ts'
import { standingsText } from '../standingText.ts'

export interface StatusOptions {
  readonly config?: string
  readonly json?: boolean
}

export async function status(shell: Shell, { config: file, json = false }: StatusOptions): Promise<ExitCode> {
  const config = await configOf(shell, file)
  const asked = await askWorker(shell, config)
  if (asked !== undefined) {
    if (json) tellMachine(shell, { from: 'worker', path: config.warehouse, ...asked })
    else {
      const next = nextText(asked, shell.clock.now())
      shell.out.write(`${standingsText(asked.standings)}\n${next}\n${depthText(asked)}`)
    }
    return 0
  }
  const newest = await openNewest(config)
  if (newest === undefined) return nothingYet(shell, json)
  await using database = newest.database
  const standings = await standingsOf(database, config)
  if (json) tellMachine(shell, { from: newest.file, path: database.path, standings })
  else {
    shell.out.write(standingsText(standings))
    if (newest.file === 'published') shell.out.write(PUBLISHED_ONLY)
    else
      shell.out.write(`
${await unownedText(shell, config)}`)
  }
  return 0
}

const PUBLISHED_ONLY = `
Another process is writing the warehouse, or this user may not open it; this is the published copy.
`

function nothingYet(shell: Shell, json: boolean): ExitCode {
  if (json) tellMachine(shell, { from: null, path: null, standings: [] })
  else shell.out.write('nothing was synced yet: run "tidemark sync"\n')
  return 0
}

interface Told {
  readonly from: 'worker' | 'warehouse' | 'published' | null
  readonly path: string | null
  readonly standings: readonly Standing[]
  readonly running?: readonly object[]
  readonly waiting?: readonly object[]
  readonly queues?: object
  readonly console?: string
  readonly next?: readonly object[]
}

function tellMachine({ out }: Shell, { from, path, standings, ...more }: Told): void {
  out.write(`${JSON.stringify({ from, path, reports: standings.map(standingDocument), ...more }, undefined, 2)}\n`)
}
