/**
 * The claims of browser.test.ts for other colours, widths, views and troubles.
 * @module-tag long
 */
import type { Browser, BrowserContext, Route } from 'playwright-core'
import { afterAll, beforeAll, expect, inject, it } from 'vitest'
import {
  aMember,
  aPerson,
  aWindow,
  failedRunOf,
  giveToken,
  launched,
  logIn,
  lookedAt,
  lostByRedraw,
  tooWide,
  VIEWS,
  violations,
} from './browser.ts'
import { aFullConsole, type Consoled } from './support.ts'

let browser: Browser
/** Logged in. */
let context: BrowserContext
let console: Consoled

const LONG = { timeout: 240_000 }
const REFUSED = (route: Route): Promise<void> => route.fulfill({ status: 429 })
const HANGING = (): Promise<void> => Promise.resolve()

beforeAll(async () => {
  browser = await launched(inject('chromium'))
  console = await aFullConsole()
  console.workshop.sandbox.setFaults(['403@events'])
  await console.carryOut('/api/sync', { reports: ['events'] })
  console.workshop.sandbox.setFaults([])
  await console.carryOut('/api/resume', { reports: ['events'] })
  context = await aMember(browser, console)
}, LONG.timeout)

afterAll(async () => {
  await browser.close()
  await console[Symbol.asyncDispose]()
})

it('stays where they are with the keys when the page is redrawn', LONG, async () => {
  await using person = await aWindow(context, console)
  await console.carryOut('/api/pause', { reports: ['office_reservations'] })
  for (const view of VIEWS) {
    await person.view(view)
    expect(await lostByRedraw(person.page), view).toEqual([])
  }
  await console.carryOut('/api/resume', { reports: ['office_reservations'] })
})

it(
  'opens more windows than a browser has connections, and finds each fresh when they come back to it',
  LONG,
  async () => {
    await using person = await aWindow(context, console)
    const { page } = person
    await page.getByRole('heading', { name: 'Reports', exact: true }).waitFor()
    await lookedAt(page, false)
    for (let others = 0; others < 7; others += 1) {
      const other = await page.context().newPage()
      await other.goto(console.url)
      await other.getByRole('heading', { name: 'Reports', exact: true }).waitFor()
      await lookedAt(other, false)
    }
    await console.carryOut('/api/pause', { reports: ['events'] })
    expect(await page.getByRole('heading', { name: 'events is paused' }).count()).toBe(0)
    await lookedAt(page, true)
    await page.getByRole('heading', { name: 'events is paused' }).waitFor()
    await console.carryOut('/api/resume', { reports: ['events'] })
  },
)

it.each([
  ['what it asks first is refused', '**/api/overview', REFUSED],
  ['what it asks first is never answered', '**/api/overview', HANGING],
])('who opens the page while %s is told so, and sees it by itself afterwards', LONG, async (_, path, trouble) => {
  await using person = await aPerson(browser, console)
  const { page } = person
  let isOver = false
  await page.route(path, (route) => (isOver ? route.continue() : trouble(route)))
  await giveToken(person)
  await page.getByRole('heading', { name: 'This could not be shown' }).waitFor()
  isOver = true
  await page.getByRole('heading', { name: 'Reports', exact: true }).waitFor()
})

it('axe-core finds nothing wrong in any view in dark colours', LONG, async () => {
  await using person = await aPerson(browser, console, { colorScheme: 'dark' })
  expect(await violations(person.page), 'login').toEqual([])
  await logIn(person)
  for (const view of [...VIEWS, `runs/${await failedRunOf(console)}`]) {
    await person.view(view)
    await person.page.waitForTimeout(300)
    expect(await violations(person.page), view).toEqual([])
  }
})

it('nothing is wider than a window of 400 pixels, and axe-core finds nothing wrong there', LONG, async () => {
  await using person = await aPerson(browser, console, { viewport: { width: 400, height: 800 } })
  expect(await tooWide(person.page), 'login').toBe(0)
  await logIn(person)
  for (const view of [...VIEWS, `runs/${await failedRunOf(console)}`]) {
    await person.view(view)
    await person.page.waitForTimeout(200)
    expect(await tooWide(person.page), view).toBe(0)
    expect(await violations(person.page), view).toEqual([])
  }
})
