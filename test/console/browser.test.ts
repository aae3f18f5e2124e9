/**
 * The console in a real browser: a person logs in, watches a run, backfills, cancels, mends a rejected row, pauses and
 * resumes, with the mouse or with keys alone, in light and dark, on a phone; axe-core finds nothing wrong in any view.
 */
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import type { Browser, BrowserContext } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { until } from '../jobs/support.ts'
import {
  aMember,
  aPerson,
  aWindow,
  failedRunOf,
  giveToken,
  launched,
  logIn,
  lostByRedraw,
  type Person,
  redraw,
  tooWide,
  VIEWS,
  violations,
} from './browser.ts'
import * as explorer from './explorerPage.ts'
import { aFullConsole, type Consoled, type Errand, TOKEN, VIEW_TOKEN } from './support.ts'

let browser: Browser
/** Logged in. */
let context: BrowserContext
let console: Consoled

/** A machine may be busy with other things. */
const LONG = { timeout: 240_000 }
beforeAll(async () => {
  browser = await launched(inject('chromium'))
  console = await aFullConsole()
  context = await aMember(browser, console)
}, LONG.timeout)

afterAll(async () => {
  await browser.close()
  await console[Symbol.asyncDispose]()
})

const faults = (...given: string[]) => console.workshop.sandbox.setFaults(given)

describe('the explorer', () => {
  it('an analyst finds a table, reads its comments and rows, and queries it with a warrant and a CSV file', LONG, () =>
    explorer.findATable({ browser, context, console }),
  )
  it('a link fills the editor and runs nothing before a press', { ...LONG, tags: 'long' }, () =>
    explorer.followALink({ browser, context, console }),
  )
  it('values, names and errors with HTML are shown as text', LONG, () =>
    explorer.showHtmlAsText({ browser, context, console }),
  )
  it('a statement that cannot run, or has many rows, says so', { ...LONG, tags: 'long' }, () =>
    explorer.readWhyNothingRuns({ browser, context, console }),
  )
  it('an endless statement ends with Escape or with Cancel, and the next one runs', { ...LONG, tags: 'long' }, () =>
    explorer.endAnEndlessStatement({ browser, context, console }),
  )
  it('the browser keeps the statements that ran, and writes one into the editor again', { ...LONG, tags: 'long' }, () =>
    explorer.repeatAStatement({ browser, context, console }),
  )
  it('who may only look, on a phone in dark colours, can run statements', { ...LONG, tags: 'long' }, () =>
    explorer.runOnAPhone({ browser, context, console }),
  )
})

interface SeenViews {
  /** Names of the buttons in all views. */
  readonly buttons: ReadonlySet<string>
  readonly pixelsTooWide: ReadonlyMap<string, number>
}

async function visitAllViews(person: Person): Promise<SeenViews> {
  const { page } = person
  const buttons = new Set<string>()
  const pixelsTooWide = new Map<string, number>()
  await console.carryOut('/api/pause', { reports: ['office_reservations'] })
  for (const view of [...VIEWS, 'reports/office_reservations', `runs/${await failedRun()}`]) {
    await person.view(view)
    for (const button of await page.getByRole('button').all())
      buttons.add((await button.getAttribute('aria-label')) ?? (await button.innerText()))
    await page.waitForTimeout(200)
    pixelsTooWide.set(view, await tooWide(page))
  }
  await console.carryOut('/api/resume', { reports: ['office_reservations'] })
  return { buttons, pixelsTooWide }
}

let onAPhone: Promise<SeenViews> | undefined
/** Visits the views once for all tests, because this takes seconds. */
const viewsOnAPhone = (): Promise<SeenViews> => (onAPhone ??= visitOnAPhone())

async function visitOnAPhone(): Promise<SeenViews> {
  await using person = await aPerson(browser, console, { viewport: { width: 320, height: 800 } })
  expect(await tooWide(person.page), 'login').toBe(0)
  await logIn(person)
  return await visitAllViews(person)
}

describe('a person', () => {
  it('is told of a wrong token, logs in with the right one, and out again', LONG, async () => {
    await using person = await aPerson(browser, console)
    const { page } = person
    expect(new URL(page.url()).pathname).toBe('/login')
    await page.getByLabel('Token of the console').fill('wrong')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').getByText('this is not the token').waitFor()
    await logIn(person)
    expect(await page.title()).toBe('Overview · Tidemark')
    await page.getByRole('button', { name: 'Log out' }).click()
    await page.getByLabel('Token of the console').waitFor()
    await page.goto(`${console.url}/`)
    expect(new URL(page.url()).pathname).toBe('/login')
  })

  it(
    'who may only look sees every view without a button that gives an order, and the API refuses orders',
    LONG,
    async () => {
      const orders = (await viewsOnAPhone()).buttons
      await using viewer = await aPerson(browser, console)
      await logIn(viewer, VIEW_TOKEN)
      const looks = (await visitAllViews(viewer)).buttons
      const answer = await viewer.page.evaluate(`fetch('/api/pause', {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-tidemark-console': '1' },
        body: '{"reports":["events"]}',
      }).then(async (response) => ({ status: response.status, ...(await response.json()) }))`)
      expect(answer).toMatchObject({
        status: 403,
        error: {
          code: 'CONSOLE_REFUSED',
          message: 'the request was refused: this token may only look',
          cure: 'Log in with TIDEMARK_CONSOLE_TOKEN to act.',
        },
      })
      const reading = ['Cancel', 'Log out', 'Run', 'Switch to dark colours', 'Write a statement']
      expect([...looks].toSorted()).toEqual(reading)
      const given = [
        'Run now',
        'Reconcile',
        'Pause',
        'Resume',
        'Dry run',
        'Begin backfill',
        'Load those of enquiries again',
      ]
      expect([...orders]).toEqual(expect.arrayContaining(given))
      const { reports } = await console.ask<{ reports: { report: string; state: string }[] }>('/api/overview')
      expect(reports.find(({ report }) => report === 'events')?.state).not.toBe('paused')
    },
  )

  it('sees which settings were edited since the worker started', LONG, async () => {
    await using person = await aWindow(context, console)
    const { page } = person
    const file = path.join(console.workshop.folder, 'tidemark.yaml')
    const before = await readFile(file, 'utf8')
    await writeFile(file, before.replace('"page_size":50', '"page_size":40'))
    const card = page
      .getByRole('article')
      .filter({ has: page.getByRole('heading', { name: 'The configuration was edited' }) })
    await redraw(page)
    await page.getByText(/^\d+ requests in 24 h, forecast /).waitFor()
    await card.getByText('Edited since: defaults.page_size').waitFor()
    await card.getByText('start the worker again').waitFor()
    await writeFile(file, before)
    await redraw(page)
    await card.waitFor({ state: 'detached' })
    expect(person.complaints).toEqual([])
  })

  it('hides runs without rows, still hidden after the page is opened again, and finds the page by its name', {
    ...LONG,
    tags: 'long',
  }, async () => {
    await using person = await aWindow(context, console)
    const { page } = person
    // The second run of a report that did not change reads no row.
    for (const reports of [['office_reservations'], ['office_reservations']])
      await console.carryOut('/api/sync', { reports })
    const { runs } = await console.ask<{ runs: { run_id: string; rows: number }[] }>(
      '/api/runs?report=office_reservations&state=done',
    )
    const [empty, full] = [runs.find(({ rows }) => rows === 0), runs.find(({ rows }) => rows > 0)]
    await page.goto(`${console.url}/runs?report=office_reservations`)
    await page.locator(`[id="run-${empty?.run_id}"]`).waitFor()
    for (const again of [false, true]) {
      if (again) await page.reload()
      else await page.getByLabel('Hide runs without rows').check()
      await page.locator(`[id="run-${empty?.run_id}"]`).waitFor({ state: 'detached' })
      await page.locator(`[id="run-${full?.run_id}"]`).waitFor()
    }
    await page.getByLabel('Hide runs without rows').uncheck()
    await page.locator(`[id="run-${empty?.run_id}"]`).waitFor()
    expect(person.complaints).toEqual([])
  })

  it('keeps a press and a selection of text while the page is redrawn', LONG, async () => {
    await using person = await aWindow(context, console)
    const { page } = person
    await person.view('reports/events')
    const button = page.getByRole('button', { name: 'Reconcile' })
    await button.hover()
    await page.mouse.down()
    await redraw(page)
    await page.mouse.up()
    await page.getByRole('dialog').getByRole('button', { name: 'Leave it' }).click()
    await page.evaluate(`getSelection().selectAllChildren(document.getElementById('runs-title'))`)
    await redraw(page)
    expect(await page.evaluate('String(getSelection())')).toBe('Last runs')
  })

  it('watches a run while it goes on, and reads what it logged', { ...LONG, tags: 'long' }, async () => {
    await using person = await aWindow(context, console)
    const { page } = person
    await person.view('reports/office_reservations')
    const { world } = console.workshop.sandbox
    for (const key of world.keys('office_reservations')) world.edit('office_reservations', key)
    faults('slow@office_reservations:700')
    await page.getByRole('button', { name: 'Run now' }).click()
    await page.getByRole('heading', { name: 'Running now' }).waitFor()
    const told = page.locator('#running small', { hasText: /[1-9]\d* rows?/ })
    const first = await told.textContent()
    faults()
    await page.getByText(/office_reservations: done, \d+ rows/).waitFor()
    await page.locator('#running').waitFor({ state: 'hidden' })
    expect(first).toMatch(/pages?/)
    await page.locator('.stacks a').first().click()
    await page.getByRole('heading', { name: 'sync of office_reservations' }).waitFor()
    await page
      .locator('.log')
      .getByText(/office_reservations: \d+ pages?/)
      .waitFor()
    expect(person.complaints).toEqual([])
  })

  it('sees what a backfill would do, begins it, watches it, and cancels it', LONG, async () => {
    await using person = await aWindow(context, console)
    const { page } = person
    await person.view('backfills?report=events')
    await page.getByLabel('From (UTC)').fill('2024-02-30')
    await page.getByRole('button', { name: 'Dry run' }).click()
    await page.getByRole('alert').getByText('is no time such as').waitFor()
    await page.getByLabel('From (UTC)').fill('2020-01-01')
    await page.getByLabel('To (UTC)').fill('2020-01-02')
    await page.getByRole('button', { name: 'Dry run' }).click()
    // The warehouse has no event of this day, so the number of rows is unknown.
    await page.getByText(/It would read: \d+ windows?, at least \d+ requests?, for events/).waitFor()
    await page.getByRole('cell', { name: '1 or more' }).first().waitFor()
    await page.getByLabel('To (UTC)').fill('')
    await page.getByRole('button', { name: 'Dry run' }).click()
    await page.getByText(/It would read: \d+ windows?, about \d+ requests?, for events/).waitFor()
    faults('slow@events:10000')
    await page.getByRole('button', { name: 'Begin backfill' }).click()
    await page.getByRole('heading', { name: 'Running now' }).waitFor()
    expect(await page.getByLabel('From (UTC)').inputValue()).toBe('2020-01-01')
    await until(async () => {
      const { backfills } = await console.ask<{ backfills: { state: string }[] }>('/api/backfills')
      return backfills.some(({ state }) => state === 'running')
    })
    await page.locator('#running').getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'End it' }).click()
    await page.getByText('cancelled: the backfill of events').waitFor()
    faults()
    await page.locator('.stacks .pill', { hasText: 'cancelled' }).waitFor()
    expect(person.complaints.filter((each) => !/status of 400/.test(each))).toEqual([])
  })

  it('reads why rows were refused, and loads them again once the cause is mended', LONG, async () => {
    await using person = await aWindow(context, console)
    const { page } = person
    await page.getByText(/enquiries: \d+ rows could not be stored/).waitFor()
    await page.getByRole('link', { name: 'Details of enquiries: rejected' }).click()
    await page.getByText('has no column (schema_contract: reject)').first().waitFor()
    await page.getByText('The row as it was sent').first().click()
    await page.locator('pre').getByText('"enquiryId"').first().waitFor()
    await page.getByRole('button', { name: 'Load those of enquiries again' }).click()
    await page.getByText(/enquiries: (\d+) of \1 rows loaded, 0 rejected again/).waitFor()
    await page.getByText('Every row that came could be stored.').waitFor()
    const { reports } = await console.ask<{ reports: { report: string; rows: number; rejected: number }[] }>(
      '/api/overview',
    )
    expect(reports.find(({ report }) => report === 'enquiries')).toMatchObject({ rejected: 0 })
    expect(person.complaints).toEqual([])
  })

  it('dismisses rejected rows, which are listed no longer', { ...LONG, tags: 'long' }, async () => {
    await using person = await aWindow(context, console)
    const { page } = person
    const { world } = console.workshop.sandbox
    for (const key of world.keys('office_reservations')) world.edit('office_reservations', key)
    faults('bad-rows@office_reservations:1')
    await console.carryOut('/api/sync', { reports: ['office_reservations'] })
    faults()
    await person.view('rejected?report=office_reservations')
    await page
      .getByRole('heading', { name: /^office_reservations/ })
      .first()
      .waitFor()
    await page.getByRole('button', { name: 'Dismiss those of office_reservations' }).click()
    await page.getByText(/office_reservations: [1-9]\d* rejected rows dismissed/).waitFor()
    await page.getByText('Every row that came could be stored.').waitFor()
    const { total } = await console.ask<{ total: number }>('/api/rejected?report=office_reservations')
    expect([total, person.complaints]).toEqual([0, []])
  })

  it('starts over with a report after a question', {
    ...LONG,
    tags: 'long',
  }, async () => {
    await using person = await aWindow(context, console)
    const { page } = person
    await person.view('reports/office_reservations')
    await page.getByRole('button', { name: 'Start over' }).click()
    await page.getByRole('dialog').getByText('Start over with office_reservations?').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Start over' }).click()
    await page
      .getByText(/\d+ rows to read again/)
      .first()
      .waitFor()
    expect(person.complaints).toEqual([])
  })

  it('learns from the console alone why a report failed and what to do, and does it', {
    ...LONG,
    tags: 'long',
  }, async () => {
    await using person = await aWindow(context, console)
    const { page } = person
    faults('403@events')
    await console.carryOut('/api/sync', { reports: ['events'] })
    await page.getByRole('heading', { name: 'events is paused' }).waitFor()
    const cure = 'Ask the owner of the service to permit it; then press Resume (or run: tidemark resume events)'
    await page.getByText(cure).first().waitFor()
    faults()
    await page.getByRole('button', { name: 'Resume' }).click()
    await page.getByRole('heading', { name: 'events is paused' }).waitFor({ state: 'detached' })
    await page.locator('#report-events').click()
    await page.getByRole('button', { name: 'Run now' }).click()
    await page.getByText(/events: done, \d+ rows/).waitFor()
  })

  it('does everything with keys alone, and always sees where they are', { ...LONG, tags: 'long' }, async () => {
    await using person = await aPerson(browser, console)
    const { page } = person
    // The page puts the focus into the field of the token. On a busy machine this takes a moment.
    await page.locator('input:focus').waitFor()
    await page.keyboard.type(TOKEN)
    await page.keyboard.press('Enter')
    await page.getByRole('navigation').waitFor()
    await page.locator('main h1').waitFor()
    const focusOn = async (name: string) => {
      for (let tabs = 0; tabs < 60; tabs += 1) {
        await page.keyboard.press('Tab')
        const [text, outline, isWindow] = await page.evaluate<[string, string, boolean]>(
          `(({ activeElement: now, body }) => [now.textContent.trim(), getComputedStyle(now).outlineStyle, now === body])(document)`,
        )
        // Behind the last place comes the window itself, then the first one.
        if (isWindow) continue
        expect(outline, `the focus is seen on "${text}"`).not.toBe('none')
        if (text === name) return
      }
      throw new TypeError(`keys never reach "${name}"`)
    }
    // A button ignores keys until the page has handled the end of its dialog, an instant after the dialog is hidden.
    const focusIs = (id: string) => page.locator(`[id="${id}"]:focus:not([aria-disabled])`).waitFor()
    await focusOn('events')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'events' }).waitFor()
    await focusOn('Pause')
    await page.keyboard.press('Space')
    await page.locator('.pill', { hasText: 'paused' }).waitFor()
    await focusIs('title')
    await focusOn('Resume')
    await page.keyboard.press('Enter')
    await page.locator('.pill', { hasText: 'paused' }).waitFor({ state: 'detached' })
    await focusIs('title')
    await focusOn('Reconcile')
    for (const answer of ['Escape', 'Enter']) {
      await page.keyboard.press('Enter')
      await page.getByRole('dialog').waitFor()
      await redraw(page)
      await page.keyboard.press(answer)
      await page.getByRole('dialog').waitFor({ state: 'hidden' })
      await focusIs('reconcile-events')
    }
    await page.getByText(/events: done, \d+ rows/).waitFor()
    await person.view('runs')
    await page.getByLabel('State').focus()
    for (const state of ['running', 'done', 'failed']) {
      await page.keyboard.press('ArrowDown')
      await page.locator(`main[data-shown="#/runs?state=${state}"]`).waitFor()
    }
    await focusIs('state')
    await page.reload()
    await focusIs('title')
    await focusOn('Skip to the content')
    await page.keyboard.press('Enter')
    expect(await page.evaluate('document.activeElement.id')).toBe('main')
  })

  it('stays where they are with the keys when the page is redrawn', { ...LONG, tags: 'long' }, async () => {
    await using person = await aWindow(context, console)
    await person.page.locator('#running').waitFor({ state: 'hidden' })
    await console.carryOut('/api/pause', { reports: ['office_reservations'] })
    for (const view of ['reports/events', 'runs']) {
      await person.view(view)
      expect(await lostByRedraw(person.page), view).toEqual([])
    }
    await console.carryOut('/api/resume', { reports: ['office_reservations'] })
  })

  it('keeps the colours that they chose', { ...LONG, tags: 'long' }, async () => {
    await using person = await aPerson(browser, console, { colorScheme: 'light' })
    const { page } = person
    await logIn(person)
    await page.getByRole('button', { name: 'Switch to dark colours' }).click()
    await page.reload()
    expect(await page.evaluate('document.documentElement.dataset.theme')).toBe('dark')
  })

  it('is told when the worker does not answer', { ...LONG, tags: 'long' }, async () => {
    await using person = await aPerson(browser, console)
    const { page } = person
    await logIn(person)
    await page.context().setOffline(true)
    await page.evaluate('dispatchEvent(new Event("hashchange"))')
    await page.getByText('the worker does not answer').first().waitFor()
    await page.context().setOffline(false)
    await page.evaluate('dispatchEvent(new Event("hashchange"))')
    await page.getByRole('heading', { name: 'Reports', exact: true }).waitFor()
  })

  it('who opens the page while a file of it is refused is told so, and sees it by itself afterwards', {
    ...LONG,
    tags: 'long',
  }, async () => {
    await using person = await aPerson(browser, console)
    const { page } = person
    let isOver = false
    await page.route('**/page/charts.js', (route) => (isOver ? route.continue() : route.fulfill({ status: 429 })))
    await giveToken(person)
    await page.getByRole('heading', { name: 'A part of this page could not be loaded' }).waitFor()
    isOver = true
    await page.getByRole('heading', { name: 'Reports', exact: true }).waitFor()
  })

  it('sees live progress again after the worker was away behind a proxy', { ...LONG, tags: 'long' }, async () => {
    await using person = await aWindow(context, console)
    const { page } = person
    let isAway = true
    await page.route('**/api/live', (route) => (isAway ? route.fulfill({ status: 502 }) : route.continue()))
    await page.reload()
    await page.locator('#connection').getByText('The worker does not answer.').waitFor()
    isAway = false
    await page.locator('#connection').waitFor({ state: 'hidden' })
  })

  it('sees on the page of runs which jobs run and which failed, and why', { ...LONG, tags: 'long' }, async () => {
    await using person = await aWindow(context, console)
    const { page } = person
    faults('slow@enquiries:4000')
    const begun = await console.ask<Errand>('/api/sync', { reports: ['enquiries'] })
    await person.view('runs')
    const jobs = page.getByRole('table', { name: 'Jobs of the queues' })
    const running = jobs.getByRole('row', { name: /incremental enquiries active/ })
    await running.waitFor()
    faults()
    await console.endOf(begun)
    await running.waitFor({ state: 'detached' })
    // The test above that met it.
    await jobs
      .getByRole('row', { name: /incremental events failed .*REPORT_FORBIDDEN/ })
      .first()
      .waitFor()
    await page
      .getByRole('row', { name: /events sync failed REPORT_FORBIDDEN/ })
      .first()
      .waitFor()
    expect(person.complaints).toEqual([])
  })
})

/** A run with an error, from the test above that met one. */
const failedRun = () => failedRunOf(console)

it('axe-core finds nothing wrong in any view', { ...LONG, tags: 'long' }, async () => {
  await using person = await aPerson(browser, console, { colorScheme: 'light' })
  expect(await violations(person.page), 'login').toEqual([])
  await logIn(person)
  const failed = await failedRun()
  await console.carryOut('/api/pause', { reports: ['office_reservations'] })
  for (const view of [...VIEWS, `runs/${failed}`]) {
    await person.view(view)
    await person.page.waitForTimeout(300)
    expect(await violations(person.page), view).toEqual([])
  }
  await person.view('reports/enquiries')
  await person.page.getByRole('button', { name: 'Reconcile' }).click()
  expect(await violations(person.page), 'dialog').toEqual([])
  await console.carryOut('/api/resume', { reports: ['office_reservations'] })
})

it('nothing is wider than the window of a phone', LONG, async () => {
  const { pixelsTooWide } = await viewsOnAPhone()
  expect(pixelsTooWide.size).toBeGreaterThan(VIEWS.length)
  for (const [view, pixels] of pixelsTooWide) expect(pixels, view).toBe(0)
})
