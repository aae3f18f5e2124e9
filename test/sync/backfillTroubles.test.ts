/**
 * What a backfill meets: windows that fail, edits while it runs, files that go away, an operator who cancels or pauses,
 * an owner that is killed, and a puller that is another process.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import type { ReportName } from '../../schema/index.ts'
import { openClient, type ReportingClient } from '../../src/client/reporting.ts'
import { systemClock } from '../../src/clock.ts'
import { SyncError } from '../../src/errors.ts'
import { fromMillis } from '../../src/instant.ts'
import { UNKNOWN_PAGING } from '../../src/plan/pagingProfile.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/server.ts'
import { type BackfillOptions, backfillReport } from '../../src/sync/backfill/backfill.ts'
import { cancelBackfill } from '../../src/sync/backfill/backfill.ts'
import {
  loadPulled,
  type Pull,
  type WindowRequest,
  pullHere,
  settingsHash,
  readPulled,
} from '../../src/sync/backfill/handover.ts'
import { identityOf, type SyncContext } from '../../src/sync/context.ts'
import { Warehouse } from '../../src/warehouse/warehouse.ts'
import { COMPILED } from '../support/compiled.ts'
import { liveRows, markOf } from '../support/held.ts'
import { aTide, type Tide } from '../support/tide.ts'
import { at } from '../support/warehouse.ts'
import { withMethods } from '../support/withMethods.ts'
import { aPlace, type Place } from './ownProcess.ts'
import { bodiesOf, differencesButAbsence, microsOf } from './stories.ts'

const PROGRAM = fileURLToPath(new URL('programs/backfillOnce.ts', import.meta.url))
const ID = 'backfill-1'
const FROM = at('2000-01-01T00:00:00Z')
const SMALL = { sandbox: { rows: 150, collections: false }, settings: { defaults: { page_size: 10 } } }

function optionsFor(context: SyncContext, given: Partial<BackfillOptions> = {}): BackfillOptions {
  const to = fromMillis(Date.now())
  return { backfillId: ID, report: 'enquiries', from: FROM, to, lanes: 2, pull: pullHere(context), ...given }
}

const stagedIn = async ({ config }: Pick<Tide, 'config'>): Promise<string[]> => readdir(config.staging).catch(() => [])

const statesOf = async ({ warehouse }: Pick<Tide, 'warehouse'>) =>
  (await warehouse.backfills.windows(ID)).map(({ state }) => state)

/** A client that refuses each question whose window lies in the range. */
function refusing(client: ReportingClient, isRefused: (since: number, until: number) => boolean): ReportingClient {
  const read: ReportingClient['read'] = (request, signal) => {
    const { modifiedSince, modifiedUntil } = request.body as { modifiedSince?: string; modifiedUntil?: string }
    const refused =
      modifiedSince !== undefined &&
      modifiedUntil !== undefined &&
      isRefused(microsOf(modifiedSince), microsOf(modifiedUntil))
    const error = new SyncError('REQUEST_INVALID', 'the service answered 400', { cure: 'Ask for something else.' })
    return refused ? Promise.reject(error) : client.read(request, signal)
  }
  return withMethods(client, { read })
}

describe('a window that always fails', () => {
  it('is reported, the others are done, the mark stays, and the next time only it is read', {
    tags: 'long',
  }, async () => {
    await using tide = await aTide(SMALL)
    await tide.sync('enquiries')
    const mark = await markOf(tide, 'enquiries')
    let bad = { since: 0, until: 0 }
    const pull: Pull = (ask, signal) => {
      if (ask.number === 3) bad = { since: ask.since, until: ask.until }
      const client = refusing(tide.client, (since, until) => since >= bad.since && until <= bad.until)
      return pullHere({ ...tide.context, client })(ask, signal)
    }
    const outcome = await backfillReport(tide.context, optionsFor(tide.context, { pull }))
    expect(outcome.state).toBe('failed')
    expect(outcome.failures.map(({ number, errorCode }) => ({ number, errorCode }))).toEqual([
      { number: 3, errorCode: 'REQUEST_INVALID' },
    ])
    expect((await statesOf(tide)).filter((state) => state !== 'done')).toEqual(['failed'])
    expect(await markOf(tide, 'enquiries')).toBe(mark)
    const [run] = await tide.warehouse.rows<{ state: string; error: string }>(
      `SELECT state, error FROM tidemark.runs WHERE run_id = '${ID}'`,
    )
    expect(run).toMatchObject({
      state: 'failed',
      error: expect.stringContaining(`1 of ${outcome.figures.windows} windows`),
    })
    const asked: number[] = []
    const again = await backfillReport(
      tide.context,
      optionsFor(tide.context, {
        pull: (ask, signal) => (asked.push(ask.number), pullHere(tide.context)(ask, signal)),
      }),
    )
    expect(asked).toEqual([3])
    expect(again.state).toBe('done')
    expect(await stagedIn(tide)).toEqual([])
  })
})

describe.each([
  ['enquiries', {}],
  ['events', {}],
  ['budgets', { tags: 'long' }],
] as const)('what changes in %s while a window waits to be loaded', (report, options) => {
  it('is not overwritten by the older version', options, async () => {
    const settings = { ...SMALL.settings, currencies: ['EUR'] }
    await using tide = await aTide({ sandbox: { rows: 150 }, settings })
    const keys = tide.sandbox.world.liveKeys(report).slice(0, 150)
    const pull: Pull = async (ask, signal) => {
      const pulled = await pullHere(tide.context)(ask, signal)
      const edited = keys.splice(0, 50)
      for (const key of edited) tide.sandbox.world.edit(report, key)
      if (edited.length > 0) await tide.sync(report)
      return pulled
    }
    const outcome = await backfillReport(tide.context, optionsFor(tide.context, { report, lanes: 1, pull }))
    expect(outcome.state).toBe('done')
    expect(await differencesButAbsence(tide, report)).toEqual([])
  })
})

describe('staged rows that went away', () => {
  it('are pulled again', { tags: 'long' }, async () => {
    await using tide = await aTide(SMALL)
    const tries: number[] = []
    const pull: Pull = async (ask, signal) => {
      const pulled = await pullHere(tide.context)(ask, signal)
      tries.push(ask.number)
      if (ask.number === 2 && tries.filter((number) => number === 2).length === 1)
        await rm(join(tide.config.staging, pulled.directory), { recursive: true })
      return pulled
    }
    expect((await backfillReport(tide.context, optionsFor(tide.context, { pull }))).state).toBe('done')
    expect(tries.filter((number) => number === 2)).toHaveLength(2)
    expect(await differencesButAbsence(tide, 'enquiries')).toEqual([])
  })

  it('are pulled again, too, when a file lost all lines but the first', { tags: 'long' }, async () => {
    await using tide = await aTide(SMALL)
    let cuts = 0
    const pull: Pull = async (ask, signal) => {
      const pulled = await pullHere(tide.context)(ask, signal)
      const file = join(tide.config.staging, pulled.directory, 'segment-0.ndjson')
      if (ask.number !== 1 || cuts > 0) return pulled
      cuts += 1
      const [first = ''] = (await readFile(file, 'utf8')).split('\n')
      await writeFile(file, `${first}\n`)
      return pulled
    }
    expect((await backfillReport(tide.context, optionsFor(tide.context, { pull }))).state).toBe('done')
    expect(cuts).toBe(1)
    expect(await differencesButAbsence(tide, 'enquiries')).toEqual([])
  })

  it('end in a clear error when they go away every time', { tags: 'long' }, async () => {
    await using tide = await aTide(SMALL)
    const pull: Pull = async (ask, signal) => {
      const pulled = await pullHere(tide.context)(ask, signal)
      if (ask.number === 1) await rm(join(tide.config.staging, pulled.directory), { recursive: true })
      return pulled
    }
    const { failures } = await backfillReport(tide.context, optionsFor(tide.context, { pull }))
    expect(failures).toMatchObject([
      { number: 1, errorCode: 'STAGED_MISSING', error: expect.stringMatching(/are gone$/) },
    ])
  })
})

describe('an operator', () => {
  it('cancels: nothing more is committed, nothing staged is left, what was done stays, and the run is in the books', {
    tags: 'long',
  }, async () => {
    await using tide = await aTide(SMALL)
    const loads = () => tide.warehouse.rows(`SELECT load_id FROM tidemark.loads WHERE run_id = '${ID}'`)
    let loadsThen: unknown[] = []
    const pull: Pull = async (ask, signal) => {
      const pulled = await pullHere(tide.context)(ask, signal)
      if (ask.number === 3) {
        expect(await cancelBackfill(tide.context, ID)).toBe('enquiries')
        loadsThen = await loads()
      }
      return pulled
    }
    const outcome = await backfillReport(tide.context, optionsFor(tide.context, { pull, lanes: 1 }))
    expect(outcome.state).toBe('cancelled')
    expect(await loads()).toEqual(loadsThen)
    expect((await statesOf(tide)).slice(0, 4)).toEqual(['done', 'done', 'cancelled', 'cancelled'])
    expect(await stagedIn(tide)).toEqual([])
    const [run] = await tide.warehouse.rows(`SELECT * FROM tidemark.runs WHERE run_id = '${ID}'`)
    expect(run).toMatchObject({ report: 'enquiries', kind: 'backfill', state: 'stopped', error_code: 'CANCELLED' })
    expect(run).toMatchObject({ inserted: outcome.figures.inserted, ended_at: expect.any(Date) as Date })
    expect(await cancelBackfill(tide.context, ID)).toBeUndefined()
    expect((await backfillReport(tide.context, optionsFor(tide.context))).state).toBe('cancelled')
  })

  it('calls it off: its run stands in the books as stopped, and it goes on when it is asked for again', {
    tags: 'long',
  }, async () => {
    await using tide = await aTide(SMALL)
    const calling = new AbortController()
    const pull: Pull = async (ask, signal) => {
      if (ask.number === 2) calling.abort(new SyncError('CANCELLED', 'called off', { cure: 'Start it again.' }))
      return pullHere(tide.context)(ask, signal)
    }
    const context = { ...tide.context, signal: calling.signal }
    const options = optionsFor(context, { pull, lanes: 1 })
    await expect(backfillReport(context, options)).rejects.toMatchObject({ code: 'CANCELLED' })
    const state = () => tide.warehouse.rows(`SELECT state FROM tidemark.runs WHERE run_id = '${ID}'`)
    expect(await state()).toEqual([{ state: 'stopped' }])
    expect(await backfillReport(tide.context, optionsFor(tide.context))).toMatchObject({ state: 'done' })
    expect(await state()).toEqual([{ state: 'done' }])
  })

  it('pauses the report: the backfill stops, and goes on after resume', { tags: 'long' }, async () => {
    await using tide = await aTide(SMALL)
    const pause = {
      report: 'enquiries',
      code: 'REPORT_PAUSED',
      reason: 'paused',
      cure: 'Resume it.',
      client: '',
    } as const
    const pull: Pull = async (ask, signal) => {
      if (ask.number === 2) await tide.warehouse.pause(pause, fromMillis(Date.now()))
      return pullHere(tide.context)(ask, signal)
    }
    const options = optionsFor(tide.context, { pull, lanes: 1 })
    await expect(backfillReport(tide.context, options)).rejects.toMatchObject({ code: 'REPORT_PAUSED' })
    expect(await tide.warehouse.backfills.book(ID)).toMatchObject({ state: 'pending' })
    expect((await statesOf(tide)).slice(0, 3)).toEqual(['done', 'done', 'pending'])
    await tide.warehouse.resume(['enquiries'])
    expect((await backfillReport(tide.context, optionsFor(tide.context))).state).toBe('done')
    expect(await differencesButAbsence(tide, 'enquiries')).toEqual([])
  })
})

/** The program, started in the place; gives what it tells, line by line. */
function startProgram(folder: string, wanted: object) {
  const { PATH = '' } = process.env
  const child = spawn(process.execPath, ['--no-warnings', PROGRAM], {
    env: {
      PATH,
      NODE_COMPILE_CACHE: COMPILED,
      REPORTING_CLIENT_SECRET: 'demo-secret',
      TIDEMARK_TEST_FOLDER: folder,
      TIDEMARK_TEST_WANTED: JSON.stringify(wanted),
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return { child, lines: createInterface(child.stdout), exited: once(child, 'exit') }
}

describe('another process', () => {
  it('that is killed in the middle leaves a backfill that goes on without reading again what was done', {
    tags: 'long',
  }, async () => {
    await using sandbox = await startSandbox({ rows: 300, faults: ['slow:15'] })
    await using place = await aPlace(sandbox.url, { ...SMALL.settings, reports: {} })
    const to = fromMillis(Date.now())
    const backfill = { backfillId: ID, report: 'enquiries', from: FROM, to, lanes: 2 }
    const { child, lines, exited } = startProgram(place.folder, { backfill })
    for await (const line of lines) {
      const { windows } = JSON.parse(line) as { windows?: { done: number } }
      if ((windows?.done ?? 0) >= 3) child.kill('SIGKILL')
    }
    await exited
    await using tide = await aTideAt(place, sandbox)
    const before = await tide.warehouse.backfills.windows(ID)
    const done = before.filter(({ state }) => state === 'done')
    expect(done.length, 'windows done before').toBeGreaterThanOrEqual(3)
    expect(done.length).toBeLessThan(before.length)
    sandbox.requests.clear()
    const { state } = await backfillReport(tide.context, optionsFor(tide.context, { to }))
    expect(state).toBe('done')
    const asked = bodiesOf(tide, 'enquiries').flatMap((body) =>
      body.modifiedSince === undefined || body.modifiedUntil === undefined
        ? []
        : [{ since: microsOf(body.modifiedSince), until: microsOf(body.modifiedUntil) }],
    )
    const readAgain = asked.filter((span) => done.some(({ since, until }) => span.since < until && span.until > since))
    expect(asked.length).toBeGreaterThan(0)
    expect(readAgain).toEqual([])
    expect(await differencesButAbsence(tide, 'enquiries')).toEqual([])
  })

  it.each(['events', 'budgets'] as const)(
    'pulls a window of %s and hands it over by its manifest alone',
    { tags: 'long', timeout: 30_000 },
    async (report) => {
      await using sandbox = await startSandbox({ rows: 60 })
      await using place = await aPlace(sandbox.url, SMALL.settings)
      await using tide = await aTideAt(place, sandbox)
      const ask = await begunWindow(tide, report)
      const { lines } = startProgram(place.folder, { pull: ask })
      const told = await lines[Symbol.asyncIterator]().next()
      const { directory } = JSON.parse(String(told.value)) as { directory: string }
      await loadPulled(tide.context, await readPulled(tide.config.staging, directory))
      expect(await statesOf(tide)).toEqual(['done'])
      expect(await differencesButAbsence(tide, report)).toEqual([])
      expect(await stagedIn(tide)).toEqual([])
      await expect(readPulled(tide.config.staging, directory)).rejects.toMatchObject({ code: 'STAGED_MISSING' })
    },
  )

  it('that pulled under an epoch of the past commits nothing', async () => {
    await using tide = await aTide(SMALL)
    const ask = await begunWindow(tide, 'enquiries')
    const pulled = await pullHere(tide.context)(ask, tide.context.signal)
    await tide.warehouse.takeFence({ report: 'enquiries', kind: 'backfill', holder: 'a newer one' })
    await expect(loadPulled(tide.context, pulled)).rejects.toMatchObject({ code: 'FENCED' })
    expect(await liveRows(tide, 'enquiries')).toBe(0)
    expect(await statesOf(tide)).toEqual(['pending'])
    expect(await stagedIn(tide)).toEqual([])
  })

  it('that is configured otherwise refuses to pull', async () => {
    await using tide = await aTide(SMALL)
    const ask = await begunWindow(tide, 'enquiries')
    const other = pullHere(tide.context)({ ...ask, question: 'another' }, tide.context.signal)
    await expect(other).rejects.toMatchObject({ code: 'CONFIG_INVALID', report: 'enquiries' })
  })

  it('that asks another service refuses to pull', async () => {
    await using tide = await aTide(SMALL)
    const ask = await begunWindow(tide, 'enquiries')
    const settings = { ...tide.context.settings, baseUrl: new URL('https://test.example.com') }
    const other = pullHere({ ...tide.context, settings })(ask, tide.context.signal)
    await expect(other).rejects.toMatchObject({ code: 'CONFIG_INVALID', report: 'enquiries' })
  })
})

type OpenTide = Omit<Tide, 'sync' | 'attempt' | 'clock'>

/** A Tidemark in a folder that another process uses too, each at its time. */
async function aTideAt({ config }: Place, sandbox: Sandbox): Promise<OpenTide> {
  const client = openClient(config.service, { clock: systemClock })
  const warehouse = await Warehouse.open({ path: config.warehouse, memory: config.limits.warehouseMemory })
  const settings = { ...config, ...config.service, identity: identityOf(config.service) }
  const { signal } = new AbortController()
  const context = { client, warehouse, clock: systemClock, settings, onProgress: () => undefined, signal }
  const close = async () => {
    await client.close()
    await warehouse.close()
  }
  return { sandbox, client, warehouse, config, context, [Symbol.asyncDispose]: close }
}

/** A backfill of one window in the books, and what a puller is told of it. */
async function begunWindow({ warehouse, config }: OpenTide, report: ReportName): Promise<WindowRequest> {
  const scope = report === 'budgets' || report === 'automated_bookings' ? 'EUR' : ''
  const range = { since: FROM, until: fromMillis(Date.now()) }
  const window = { ...range, scope, number: 1, plannedRows: undefined, plannedRequests: 1 }
  await warehouse.backfills.begin({ backfillId: ID, report, ...range }, [window], range.until)
  const fence = await warehouse.takeFence({ report, kind: 'backfill', holder: ID })
  const { numberPrefix } = warehouse
  const question = settingsHash({ ...config, ...config.service }, report)
  return { backfillId: ID, report, scope, number: 1, ...range, fence, question, numberPrefix, profile: UNKNOWN_PAGING }
}
