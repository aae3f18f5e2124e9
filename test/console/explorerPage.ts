/**
 * Stories of the explorer in a real browser: tables, statements by mouse, keys and phone, links that do not run, and long
 * statements. browser.test.ts runs them on its own console, because a console and a browser take 8 s of processor time.
 */
import { readFile } from 'node:fs/promises'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { expect } from 'vitest'
import { until } from '../jobs/support.ts'
import { aPerson, aWindow, logIn, redraw, tooWide, violations } from './browser.ts'
import { type Consoled, VIEW_TOKEN } from './support.ts'

/** What a story of the explorer needs. `context` is logged in. */
export interface Surroundings {
  readonly browser: Browser
  readonly context: BrowserContext
  readonly console: Consoled
}

/** Never ends within the time of a test. */
const ENDLESS = 'SELECT count(*) FROM range(1000000000) a, range(1000000) b WHERE a.range * b.range = 7'

const editor = (page: Page) => page.getByLabel('SQL')
const note = (page: Page) => page.getByRole('region', { name: 'Result' }).getByRole('status')
const rows = (page: Page) => page.getByRole('region', { name: 'Rows of the statement' })

/** Runs a statement with the keys alone and waits for its end. */
async function run(page: Page, sql: string): Promise<string> {
  await editor(page).fill(sql)
  const answered = page.waitForResponse('**/api/query')
  await editor(page).press('ControlOrMeta+Enter')
  await answered
  await page.locator('#run[aria-disabled=false]').waitFor()
  return note(page).innerText()
}

export async function findATable({ context, console }: Surroundings): Promise<void> {
  await using person = await aWindow(context, console)
  const { page } = person
  await page.getByRole('link', { name: 'Explorer' }).click()
  await page.getByRole('link', { name: 'current.events', exact: true }).click()
  await page.getByRole('heading', { name: 'current.events' }).waitFor()
  await page.getByRole('region', { name: 'Columns of current.events' }).getByText('BIGINT').first().waitFor()
  expect(await page.getByRole('region', { name: 'Some rows of current.events' }).locator('tbody tr').count()).toBe(10)
  await page.getByText(/^[\d,]+ rows, \d+ columns$/).waitFor()
  await page.getByRole('button', { name: 'Write a statement' }).click()
  expect(await page.evaluate('document.activeElement.id')).toBe('sql')
  expect(await editor(page).inputValue()).toBe('SELECT * FROM current.events LIMIT 100')
  await editor(page).fill('')
  await page.keyboard.type(
    `SELECT name, NULL AS "a,b", 'say "hi"' AS c, '' AS d FROM current.events ORDER BY event_id LIMIT 3`,
  )
  await page.getByRole('button', { name: 'Run' }).click()
  await note(page)
    .getByText(/^3 rows\. It took \d/)
    .waitFor()
  await page
    .getByRole('region', { name: 'Result' })
    .getByText(/^events: complete up to 20.*; deletions show by flag/)
    .waitFor()
  await redraw(page)
  expect(await rows(page).locator('tbody tr').count()).toBe(3)
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download CSV' }).click(),
  ])
  expect(file.suggestedFilename()).toBe('result.csv')
  const { stdout } = await console.workshop.run('query', '--format', 'csv', await editor(page).inputValue())
  expect(await readFile(await file.path(), 'utf8')).toBe(stdout)
  expect(person.complaints).toEqual([])
}

export async function followALink({ context, console }: Surroundings): Promise<void> {
  await using author = await aWindow(context, console)
  await author.view('explorer')
  await editor(author.page).fill(`SELECT 40 + 2 AS answer, 'a&b=c #d %' AS odd`)
  await author.page.getByRole('link', { name: 'Link to this statement' }).click()
  await author.page.waitForURL(/sql=/)
  expect(await note(author.page).innerText()).toBe('')
  const link = author.page.url()
  await using reader = await aWindow(context, console)
  const { page } = reader
  const sent: string[] = []
  page.on('request', (request) => sent.push(new URL(request.url()).pathname))
  await page.goto(link)
  await note(page).getByText('This statement came with a link. It has not run.').waitFor()
  await redraw(page)
  expect(sent).not.toContain('/api/query')
  expect(sent.join()).not.toContain('answer')
  await page.getByRole('button', { name: 'Run' }).click()
  await rows(page).getByText('a&b=c #d %').waitFor()
  expect(sent).toContain('/api/query')
}

export async function showHtmlAsText({ context, console }: Surroundings): Promise<void> {
  await using person = await aWindow(context, console)
  const { page } = person
  await person.view('explorer')
  const evil = `<img src=x onerror="globalThis.isHacked = true"><script>globalThis.isHacked = true</script>`
  await run(page, `SELECT '${evil}' AS "<b>${evil.replaceAll('"', '""')}</b>", ['<i>x</i>'] AS list`)
  await rows(page).getByText(evil).first().waitFor()
  expect(await rows(page).locator('img, script, b').count()).toBe(0)
  expect(await run(page, `SELECT "<img src=x onerror=alert(1)>"`)).toContain('<img src=x onerror=alert(1)>')
  await page.goto(`${console.url}/#/explorer?table=${encodeURIComponent('<img src=x>')}`)
  await page.getByText('there is no table <img src=x> in the published copy').waitFor()
  expect(await page.evaluate('globalThis.isHacked')).toBeUndefined()
  expect(person.complaints.filter((each) => !/status of 40[04]/.test(each))).toEqual([])
}

export async function readWhyNothingRuns({ context, console }: Surroundings): Promise<void> {
  await using person = await aWindow(context, console)
  const { page } = person
  await person.view('explorer')
  expect(await run(page, 'SELEC 1')).toMatch(/syntax error.*Write one statement/s)
  expect(await run(page, 'FROM current.invoices')).toContain('invoices does not exist')
  expect(await run(page, 'DROP TABLE main.events')).toContain('this is DROP')
  expect(await rows(page).count()).toBe(0)
  expect(await run(page, 'FROM range(700)')).toContain('700 rows. The table shows the first 500.')
  expect(await rows(page).locator('tbody tr').count()).toBe(500)
  expect(await run(page, 'FROM range(20000)')).toMatch(
    /^10,000 rows\..*There are more: the limit is 10,000 rows or 4 MB/,
  )
}

export async function endAnEndlessStatement({ context, console }: Surroundings): Promise<void> {
  await using person = await aWindow(context, console)
  const { page } = person
  await person.view('explorer')
  for (const end of [() => page.keyboard.press('Escape'), () => page.getByRole('button', { name: 'Cancel' }).click()]) {
    await editor(page).fill(ENDLESS)
    await editor(page).press('ControlOrMeta+Enter')
    await note(page).getByText('Running …').waitFor()
    await redraw(page)
    await end()
    await note(page).getByText('Cancelled.').waitFor()
  }
  await until(async () => (await run(page, 'SELECT 7 AS seven')).startsWith('1 row.'))
  const cancelled = await page.evaluate('document.getElementById("cancel").ariaDisabled')
  expect(cancelled).toBe('true')
}

export async function repeatAStatement({ browser, console }: Surroundings): Promise<void> {
  await using person = await aPerson(browser, console)
  const { page } = person
  await logIn(person)
  await person.view('explorer')
  for (const sql of ['SELECT 1 AS one', 'SELECT 2 AS two', 'SELECT 1 AS one']) await run(page, sql)
  await page.reload()
  const history = page.getByLabel('History of this browser')
  await history.waitFor()
  expect(await history.locator('option').allInnerTexts()).toEqual([
    'Choose a statement',
    'SELECT 1 AS one',
    'SELECT 2 AS two',
  ])
  await history.selectOption('SELECT 2 AS two')
  expect(await editor(page).inputValue()).toBe('SELECT 2 AS two')
  expect(await note(page).innerText()).toBe('')
}

export async function runOnAPhone({ browser, console }: Surroundings): Promise<void> {
  await using person = await aPerson(browser, console, { colorScheme: 'dark', viewport: { width: 360, height: 740 } })
  const { page } = person
  await logIn(person, VIEW_TOKEN)
  await person.view('explorer?table=main.events')
  expect(await run(page, 'SELECT *, repeat(name, 50) AS long FROM main.events')).toMatch(/^\d+ rows\./)
  await page.waitForTimeout(300)
  expect([await tooWide(page), await violations(page)]).toEqual([0, []])
  for (const id of ['sql', 'run', 'cancel', 'link', 'history']) {
    await page.locator(`#${id}`).focus()
    await page.keyboard.press('Shift+Tab')
    await page.keyboard.press('Tab')
    expect(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle'), id).not.toBe('none')
  }
  const table = rows(page)
  await table.focus()
  await page.keyboard.press('ArrowRight')
  await until(async () => (await table.evaluate('(element) => element.scrollLeft')) !== 0)
}
