/**
 * Whatever order things happen in, a person meets the same page: answers that come late or behind one another, runs that
 * begin and end meanwhile, a view that is left, a window that nobody looks at. The order is made here, so that none
 * depends on how busy the machine is.
 */
import type { Browser, BrowserContext, Locator, Page, Route } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { reportsOnly } from '../jobs/support.ts'
import { aMember, aPerson, aWindow, launched, logIn, lookedAt } from './browser.ts'
import { aConsole, type Consoled } from './support.ts'

let browser: Browser
/** Logged in. */
let context: BrowserContext
let console: Consoled

/** A machine may be busy with other things. */
const LONG = { timeout: 240_000 }

beforeAll(async () => {
  browser = await launched(inject('chromium'))
  console = await aConsole({
    sandbox: { rows: 40, seed: 5 },
    settings: {
      defaults: { every: '24d', reconcile_every: 'never' },
      reports: reportsOnly({ events: {}, enquiries: {} }),
    },
  })
  context = await aMember(browser, console)
}, LONG.timeout)

afterAll(async () => {
  await browser.close()
  await console[Symbol.asyncDispose]()
})

/** Has the page ask anew for what it shows, as when a run begins or ends. */
const REDRAW = `document.getElementById('theme').click()`

/** Answers of an address that wait until they are let go, each by its own. */
async function heldBack(page: Page, path: string): Promise<(() => Promise<void>)[]> {
  const held: (() => Promise<void>)[] = []
  await page.route(path, async (route) => {
    // The page asks again every few seconds, also as the test ends.
    const response = await route.fetch().catch(() => undefined)
    if (response !== undefined) held.push(() => route.fulfill({ response }))
  })
  return held
}

const until = async (isSo: () => boolean): Promise<void> => {
  while (!isSo()) await new Promise((resolve) => void setTimeout(resolve, 20))
}

/** Where an element is; one that is drawn anew meanwhile is nowhere for a moment. */
async function placeOf(element: Locator): Promise<{ x: number; y: number }> {
  for (;;) {
    const box = await element.boundingBox()
    if (box !== null) return box
  }
}

/** Answers that a backfill would ask so much. */
const planOf = (route: Route, requests: number): Promise<void> => {
  const { report } = JSON.parse(route.request().postData() ?? '') as { report: string }
  const span = { since: '2024-01-01T00:00:00Z', until: '2024-02-01T00:00:00Z' }
  return route.fulfill({ json: { report, ...span, goes_on: false, requests, windows: [] } })
}

const refuse = (route: Route): Promise<void> =>
  route.fulfill({ status: 400, json: { error: { code: 'USAGE_INVALID', message: 'marked-refusal', cure: '' } } })

describe('a view', () => {
  it('is shown although runs begin and end faster than its answers come', { ...LONG, tags: 'long' }, async () => {
    await using person = await aWindow(context, console)
    const { page } = person
    await page.route('**/api/runs?*', async (route) => {
      await new Promise((resolve) => void setTimeout(resolve, 600))
      await route.continue()
    })
    await page.evaluate(`setInterval(() => ${REDRAW}, 150)`)
    await page.getByRole('link', { name: 'Runs' }).click()
    await page.getByRole('heading', { level: 1, name: 'Runs' }).waitFor()
  })

  it('that was asked for shows the choice, whichever of its answers comes first', {
    ...LONG,
    tags: 'long',
  }, async () => {
    await using person = await aWindow(context, console)
    const { page } = person
    await person.view('runs')
    const held = await heldBack(page, '**/api/runs?*')
    await page.evaluate(`location.hash = '#/runs?report=events&state=done'`)
    await until(() => held.length >= 1)
    await page.evaluate(REDRAW)
    await until(() => held.length >= 2)
    await held[1]?.()
    await page.locator('main[data-shown="#/runs?report=events&state=done"]').waitFor()
    expect(await page.getByLabel('Report').inputValue()).toBe('events')
    expect(await page.getByLabel('State').inputValue()).toBe('done')
    await held[0]?.()
  })

  it.each([
    ['takes the focus, whichever of its answers comes first', false, 'Runs'],
    ['leaves the focus to who went on with keys meanwhile', true, 'Rejected'],
  ])('that was asked for %s', { ...LONG, tags: 'long' }, async (_, hasGoneOn, focused) => {
    await using person = await aWindow(context, console)
    const { page } = person
    const held = await heldBack(page, '**/api/runs?*')
    await page.getByRole('link', { name: 'Runs' }).focus()
    await page.keyboard.press('Enter')
    await until(() => held.length >= 1)
    if (hasGoneOn) await page.keyboard.press('Tab')
    else {
      await page.evaluate(REDRAW)
      await until(() => held.length >= 2)
    }
    await held.at(-1)?.()
    await page.getByRole('heading', { level: 1, name: 'Runs' }).waitFor()
    expect(await page.evaluate('document.activeElement.textContent')).toBe(focused)
    expect(await page.evaluate('document.activeElement.localName')).toBe(hasGoneOn ? 'a' : 'h1')
  })

  it('that is older than what is shown is not drawn over it', { ...LONG, tags: 'long' }, async () => {
    await using person = await aWindow(context, console)
    const { page } = person
    await person.view('reports/events')
    const held = await heldBack(page, '**/api/reports/events')
    await page.evaluate(REDRAW)
    await until(() => held.length >= 1)
    await console.carryOut('/api/pause', { reports: ['events'] })
    await page.evaluate(REDRAW)
    await until(() => held.length >= 2)
    await held[1]?.()
    await page.getByRole('button', { name: 'Resume' }).waitFor()
    const older = page.waitForResponse(/\/api\/reports\/events/)
    await held[0]?.()
    await (await older).finished()
    await page.waitForTimeout(200)
    expect(await page.getByRole('button', { name: 'Resume' }).count()).toBe(1)
    await console.carryOut('/api/resume', { reports: ['events'] })
  })
})

describe('a choice', () => {
  it('is added to the one before it, though that is not drawn yet', { ...LONG, tags: 'long' }, async () => {
    await using person = await aWindow(context, console)
    const { page } = person
    await person.view('runs')
    const held = await heldBack(page, '**/api/runs?*')
    await page.getByLabel('State').selectOption('failed')
    await page.getByLabel('Report').selectOption('events')
    await until(() => held.length >= 2)
    await held[1]?.()
    await page.locator('main[data-shown="#/runs?state=failed&report=events"]').waitFor()
    expect(await page.getByLabel('State').inputValue()).toBe('failed')
    await held[0]?.()
  })

  it('begins with the newest rows', { ...LONG, tags: 'long' }, async () => {
    await using person = await aWindow(context, console)
    const { page } = person
    await person.view('rejected?from=20')
    await page.getByLabel('Report').selectOption('events')
    await page.locator('main[data-shown="#/rejected?report=events"]').waitFor()
  })
})

describe('a dry run', () => {
  it('shows the plan that was asked for last, though the one before it comes later', {
    ...LONG,
    tags: 'long',
  }, async () => {
    await using person = await aWindow(context, console)
    const { page } = person
    await person.view('backfills?report=events')
    const routes: Route[] = []
    await page.route('**/api/backfills/plan', (route) => void routes.push(route))
    await page.getByRole('button', { name: 'Dry run' }).click()
    await until(() => routes.length === 1)
    await page.getByLabel('From (UTC)').fill('2024-01-01')
    await page.getByRole('button', { name: 'Dry run' }).click()
    await until(() => routes.length === 2)
    const [first, second] = routes as [Route, Route]
    await planOf(second, 2)
    await page.getByText('about 2 requests, for events').waitFor()
    await planOf(first, 1)
    await page.waitForTimeout(200)
    expect(await page.getByText('about 2 requests, for events').count()).toBe(1)
  })

  it('is forgotten when its view is left, also where it is refused', { ...LONG, tags: 'long' }, async () => {
    await using person = await aWindow(context, console)
    const { page, complaints } = person
    await person.view('backfills?report=events')
    const routes: Route[] = []
    await page.route('**/api/backfills/plan', (route) => void routes.push(route))
    for (const asked of [1, 2]) {
      await page.getByRole('button', { name: 'Dry run' }).click()
      await until(() => routes.length === asked)
      await person.view('runs')
      if (asked === 1) await person.view('backfills?report=enquiries')
    }
    const [first, second] = routes as [Route, Route]
    await refuse(second)
    await page.waitForTimeout(200)
    await person.view('backfills?report=events')
    await refuse(first)
    await page.waitForTimeout(200)
    expect(await page.getByText('marked-refusal').count()).toBe(0)
    expect(complaints.filter((each) => !/status of 400/.test(each))).toEqual([])
  })
})

describe('the end of what was begun', () => {
  it('is still told when they come back to the window later', { ...LONG, tags: 'long' }, async () => {
    await using person = await aPerson(browser, console)
    const { page } = person
    await page.clock.install()
    await logIn(person)
    await person.view('reports/events')
    await page.getByRole('button', { name: 'Pause' }).click()
    const told = page.getByText('events: paused')
    await told.waitFor()
    await lookedAt(page, false)
    // From here on it stands, however long the machine takes.
    await page.clock.pauseAt(Date.now() + 60_000)
    expect(await told.count()).toBe(1)
    await lookedAt(page, true)
    await page.clock.runFor(8_000)
    expect(await told.count()).toBe(1)
    await page.clock.runFor(2_000)
    await told.waitFor({ state: 'detached' })
    await console.carryOut('/api/resume', { reports: ['events'] })
  })

  it('is told though the worker could not be reached for a moment', { ...LONG, tags: 'long' }, async () => {
    await using person = await aWindow(context, console)
    const { page } = person
    await person.view('reports/events')
    let looked = 0
    await page.route('**/api/errands/*', (route) => ((looked += 1) <= 2 ? route.abort() : route.continue()))
    console.workshop.sandbox.setFaults(['slow@events:2500'])
    await page.getByRole('button', { name: 'Run now' }).click()
    await page.getByText(/events: done, \d+ rows/).waitFor()
    console.workshop.sandbox.setFaults([])
  })
})

describe('what somebody reads', () => {
  it('stays marked while the page goes on by itself, and is fresh again once they let go of it', {
    ...LONG,
    tags: 'long',
  }, async () => {
    await using person = await aWindow(context, console)
    const { page } = person
    await person.view('reports/events')
    const marked = 'getSelection().toString()'
    await page.evaluate(`getSelection().selectAllChildren(document.querySelector('main .facts'))`)
    const text = await page.evaluate<string>(marked)
    expect(text).toContain('Runs every')
    let asked = 0
    page.on('response', (response) => void (response.url().endsWith('/api/reports/events') && (asked += 1)))
    await console.carryOut('/api/sync', { reports: ['events'] })
    await until(() => asked >= 2)
    expect(await page.evaluate(marked)).toBe(text)
    await console.carryOut('/api/pause', { reports: ['events'] })
    await page.evaluate('getSelection().removeAllRanges()')
    await page.getByRole('button', { name: 'Resume' }).waitFor()
    await console.carryOut('/api/resume', { reports: ['events'] })
  })

  it('is the report that an address names, or a word that there is none', { ...LONG, tags: 'long' }, async () => {
    await using person = await aWindow(context, console)
    const { page } = person
    await page.goto(`${console.url}/#/reports/%`)
    await page.getByRole('heading', { name: 'This could not be shown' }).waitFor()
    expect(person.complaints.filter((each) => each.includes('URI'))).toEqual([])
  })
})

describe('a press', () => {
  it.each([
    ['the mouse', 'mouse'],
    ['the space bar', 'keyboard'],
  ] as const)(
    'with %s meets what was meant although the page is drawn anew meanwhile',
    { ...LONG, tags: 'long' },
    async (_, by) => {
      await using person = await aWindow(context, console)
      const { page } = person
      await person.view('reports/events')
      for (const [name, next] of [
        ['Pause', 'Resume'],
        ['Resume', 'Pause'],
      ] as const) {
        const held = await heldBack(page, '**/api/reports/events')
        await page.evaluate(REDRAW)
        await until(() => held.length >= 1)
        const button = page.getByRole('button', { name })
        await button.hover()
        if (by === 'keyboard') await button.focus()
        await (by === 'mouse' ? page.mouse.down() : page.keyboard.down('Space'))
        for (const answer of held) await answer()
        await page.waitForTimeout(200)
        await (by === 'mouse' ? page.mouse.up() : page.keyboard.up('Space'))
        await page.unroute('**/api/reports/events')
        await page.getByRole('button', { name: next }).waitFor()
      }
      expect(person.complaints).toEqual([])
    },
  )

  it('with a finger meets what was meant, though its click comes behind its release', {
    ...LONG,
    tags: 'long',
  }, async () => {
    await using person = await aPerson(browser, console, { hasTouch: true, viewport: { width: 400, height: 800 } })
    const { page } = person
    await logIn(person)
    await person.view('reports/events')
    const finger = await page.context().newCDPSession(page)
    const asked: string[] = []
    page.on('request', (request) => request.method() === 'POST' && asked.push(new URL(request.url()).pathname))
    // Another button comes into the place of the one that is pressed.
    const detail = await console.ask<{ standing: object }>('/api/reports/events')
    const paused = { ...detail, standing: { ...detail.standing, state: 'paused' } }
    // In one round the click may come at once.
    for (let round = 1; round <= 5; round += 1) {
      const held: Route[] = []
      await page.route('**/api/reports/events', (route) => void held.push(route))
      await page.evaluate(REDRAW)
      await until(() => held.length >= 1)
      const button = page.getByRole('button', { name: 'Run now' })
      await button.click({ trial: true })
      const { x, y } = await placeOf(button)
      await finger.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: [{ x: x + 8, y: y + 8 }] })
      for (const route of held) await route.fulfill({ json: paused })
      await page.waitForTimeout(200)
      await finger.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] })
      await until(() => asked.length >= round)
      expect(asked.at(-1)).toBe('/api/sync')
      await page.unroute('**/api/reports/events')
      await page.evaluate(REDRAW)
      await button.waitFor()
    }
  })

  it('that never ends does not keep what is new from them', { ...LONG, tags: 'long' }, async () => {
    await using person = await aWindow(context, console)
    const { page } = person
    await page.getByRole('heading', { name: 'Reports', exact: true }).hover()
    await page.mouse.down()
    await console.carryOut('/api/pause', { reports: ['events'] })
    await page.evaluate('dispatchEvent(new Event("hashchange"))')
    await page.getByRole('heading', { name: 'events is paused' }).waitFor()
    await console.carryOut('/api/resume', { reports: ['events'] })
  })
})
