/** Takes the pictures for the documents (`npm run screenshots`): the console of a worker that reads a sandbox. */
import { mkdir, stat } from 'node:fs/promises'
import path from 'node:path'
import { reportNames } from '../../schema/index.ts'
import { systemClock as clock } from '../../src/clock.ts'
import { ROOT } from '../../test/rules/source.ts'
import { chromiumHere } from '../../test/support/chromium.ts'
import { aPerson, launched, logIn } from '../../test/console/browser.ts'
import { aConsole, type Consoled } from '../../test/console/support.ts'

const FOLDER = path.join(ROOT, 'docs/images')
/** Documents must load over slow connections too. */
const BYTES_MAX = 300_000
/** The charts need enough points. */
const SYNCS = 8
const SYNC_EVERY_MS = 4_000
const POLL_EVERY_MS = 250

interface Shot {
  readonly file: string
  readonly view: string
  readonly colorScheme: 'light' | 'dark'
  readonly width: number
  readonly height: number
  /** The statement that the explorer runs before the picture. */
  readonly sql?: string
}

const EXAMPLE = `SELECT status, count(*) AS events, sum(attendees) AS attendees, max(start_date) AS last_start
FROM current.events GROUP BY ALL ORDER BY events DESC`

const SHOTS: readonly Shot[] = [
  { file: 'overview.png', view: '', colorScheme: 'light', width: 1_280, height: 900 },
  { file: 'report.png', view: 'reports/events', colorScheme: 'dark', width: 1_280, height: 1_000 },
  { file: 'explorer.png', view: 'explorer', colorScheme: 'light', width: 1_280, height: 760, sql: EXAMPLE },
  { file: 'phone.png', view: '', colorScheme: 'light', width: 400, height: 860 },
]

const SETTINGS = {
  currencies: ['EUR'],
  defaults: { every: '1h', reconcile_every: 'never' },
  reports: { audit_entries: { entities: [{ entity_id: 3, follows: 'events' }] } },
}

async function main(): Promise<void> {
  const program = chromiumHere()
  if (program === undefined) throw new TypeError('The pictures need a Chromium. Type: sudo apt-get install chromium')
  await using console = await aConsole({ sandbox: { rows: 400, seed: 2_026 }, settings: SETTINGS })
  await prepareState(console)
  const browser = await launched(program)
  await mkdir(FOLDER, { recursive: true })
  try {
    for (const shot of SHOTS) await shoot(shot, { browser, console })
  } finally {
    await browser.close()
  }
}

/** Rows change, the worker syncs, and two reports need attention. */
async function prepareState(console: Consoled): Promise<void> {
  const { sandbox } = console.workshop
  await syncAll(console)
  sandbox.setChangesPerSecond(8)
  for (let n = 0; n < SYNCS; n += 1) {
    await clock.sleep(SYNC_EVERY_MS)
    if (n === SYNCS - 2) sandbox.setFaults(['403@merf_submissions', 'bad-rows@enquiries:4'])
    await syncAll(console)
  }
  sandbox.setChangesPerSecond(0)
  await syncAll(console)
}

async function syncAll(console: Consoled): Promise<void> {
  let errand = await console.ask<{ id: string; state: string }>('/api/sync', { reports: reportNames })
  while (errand.state === 'running') {
    await clock.sleep(POLL_EVERY_MS)
    errand = await console.ask(`/api/errands/${errand.id}`)
  }
}

type Looking = { readonly browser: Awaited<ReturnType<typeof launched>>; readonly console: Consoled }

async function shoot(
  { file, view, colorScheme, width, height, sql }: Shot,
  { browser, console }: Looking,
): Promise<void> {
  await using person = await aPerson(browser, console, { colorScheme, viewport: { width, height } })
  await logIn(person)
  await person.view(view)
  if (sql !== undefined) {
    await person.page.getByLabel('SQL').fill(sql)
    await person.page.getByRole('button', { name: 'Run' }).click()
    await person.page.getByRole('region', { name: 'Rows of the statement' }).waitFor()
  }
  // The charts are drawn only when they have a width.
  await person.page.waitForTimeout(1_000)
  const target = path.join(FOLDER, file)
  await person.page.screenshot({ path: target })
  const { size } = await stat(target)
  process.stdout.write(`${file}: ${Math.round(size / 1_000)} kB\n`)
  if (size > BYTES_MAX) throw new TypeError(`${file} has ${size} bytes, ${BYTES_MAX} at most: make its window smaller`)
}

await main()
