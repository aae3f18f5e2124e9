/** `tidemark status`: prints how fresh each report is, and what the worker does. */
import { readStatus, type Status } from '../../operations/readStatus.ts'
import { printDocument } from '../print.ts'
import type { ExitCode, Shell } from '../shell.ts'
import { standingsText } from '../standingText.ts'
import { unownedText } from '../unowned.ts'
import type { CommandOptions } from '../voices.ts'
import { activityText, nextText } from '../workerStatus.ts'

export async function status(shell: Shell, { config, json = false }: CommandOptions): Promise<ExitCode> {
  const { out, clock, stop } = shell
  const found = await readStatus(config, { clock, signal: stop.signal })
  if (json) printDocument(shell, documentOf(found))
  else if (found.from === null) out.write('nothing was synced yet: run "tidemark sync"\n')
  else if (found.from === 'worker')
    out.write(
      `${standingsText(found.standings, config.reports)}\n${nextText(found, clock.now())}\n${activityText(found)}`,
    )
  else {
    const note = found.from === 'published' ? PUBLISHED_ONLY : await unownedText(shell, config)
    out.write(`${standingsText(found.standings, config.reports)}\n${note}`)
  }
  return 0
}

const PUBLISHED_ONLY =
  'Another process is writing the warehouse, or this user may not open it; this is the published copy.\n'

const documentOf = ({ from, path, standings, ...more }: Status): object => ({ from, path, reports: standings, ...more })
