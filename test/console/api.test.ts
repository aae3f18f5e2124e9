/** The API: each address answers what its document says, and does what the command of that name does. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { systemClock } from '../../src/clock.ts'
import { reportsOnly, until } from '../jobs/support.ts'
import { aConsole, type Consoled, type Errand, TOKEN } from './support.ts'

let console: Consoled

const SETTINGS = {
  defaults: { every: '24d', reconcile_every: 'never', page_size: 50 },
  reports: reportsOnly({ events: {}, enquiries: {} }),
}

beforeAll(async () => {
  const sandbox = { rows: 120, seed: 3, collections: true, faults: ['bad-rows@events:9'] }
  console = await aConsole({ sandbox, settings: SETTINGS })
  await console.carryOut('/api/sync', { reports: ['events', 'enquiries'] })
}, 240_000)
afterAll(() => console[Symbol.asyncDispose]())

interface Operation {
  readonly security?: readonly unknown[]
  readonly parameters?: readonly { readonly name: string; readonly in: string }[]
  readonly requestBody?: object
  readonly responses: Readonly<Record<string, { readonly content: { 'application/json': { schema: object } } }>>
}

const document = () =>
  console.ask<{ openapi: string; paths: Record<string, Record<string, Operation>> }>('/api/openapi.json')

const EXAMPLES: Readonly<Record<string, object>> = {
  '/api/sync': { reports: ['events'] },
  '/api/reconcile': { reports: ['enquiries'] },
  '/api/backfills': { report: 'events', from: '2024-01-01', to: '2024-02-01' },
  '/api/backfills/plan': { report: 'events', from: '2024-01-01' },
  '/api/pause': { reports: ['enquiries'] },
  '/api/resume': { reports: ['enquiries'] },
  '/api/rejected/retry': { reports: ['events'] },
  // Not events: other tests need its rejected rows.
  '/api/rejected/dismiss': { reports: ['merf_submissions'] },
  '/api/reset': { reports: ['merf_submissions'] },
  '/api/session': { token: TOKEN },
  '/api/query': { sql: 'FROM events LIMIT 3' },
}

const QUERIES: Readonly<Record<string, string>> = {
  '/api/wait': '?report=events&fresh=1d',
  '/api/changes': '?report=events&report=enquiries&children=true',
  '/api/tables': '?table=current.events',
}

describe('the document', () => {
  it('is OpenAPI 3.1 and lists every address, each with what it takes and answers', async () => {
    const { openapi, paths } = await document()
    expect(openapi).toBe('3.1.0')
    expect(Object.keys(paths)).toEqual(
      expect.arrayContaining(['/api/overview', '/api/reports/{report}', '/api/runs/{run}', '/api/errands/{errand}']),
    )
    const open = Object.entries(paths).flatMap(([path, each]) =>
      Object.entries(each).flatMap(([method, { security }]) => (security?.length === 0 ? [`${method} ${path}`] : [])),
    )
    expect(open).toEqual(['post /api/session'])
  })

  it('says what every address that reads really answers', { tags: 'long' }, async () => {
    const { paths } = await document()
    const { runs } = await console.ask<{ runs: { run_id: string }[] }>('/api/runs')
    const { id } = await console.ask<Errand>('/api/pause', { reports: ['enquiries'] })
    await console.ask('/api/resume', { reports: ['enquiries'] })
    const values: Record<string, string> = { report: 'events', run: runs[0]?.run_id ?? '', errand: id }
    for (const [path, { get }] of Object.entries(paths)) {
      if (get === undefined) continue
      const { status, ...answer } = await console.ask(
        `${path.replaceAll(/\{(\w+)\}/g, (_, name: string) => values[name] ?? '')}${QUERIES[path] ?? ''}`,
      )
      expect(status, path).toBe(200)
      expect(problemsOf(answer, get), path).toEqual([])
    }
  })

  it('says what every address that acts takes and answers', { tags: 'long', timeout: 120_000 }, async () => {
    const { paths } = await document()
    const acting = Object.entries(paths).filter(([path, { post }]) => post !== undefined && path !== '/api/cancel')
    expect(acting.map(([path]) => path).toSorted()).toEqual(Object.keys(EXAMPLES).toSorted())
    for (const [path, { post }] of acting) {
      const { status, ...answer } = await console.ask(path, EXAMPLES[path])
      expect([200, 202], path).toContain(status)
      expect(problemsOf(answer, post as Operation), path).toEqual([])
      await console.endOf({ status, ...answer } as unknown as Errand)
    }
  })
})

const problemsOf = (answer: object, { responses }: Operation): unknown[] => {
  const schema = z.fromJSONSchema(responses['200']?.content['application/json'].schema as z.core.JSONSchema.JSONSchema)
  return schema.safeParse(answer).error?.issues ?? []
}

describe('the API', () => {
  it('waits until rows are complete, and says why they are not', async () => {
    const complete = await console.ask<{ complete: boolean }>('/api/wait?report=events&report=enquiries&fresh=1d')
    expect(complete).toMatchObject({ complete: true, reports: [{ report: 'events' }, { report: 'enquiries' }] })
    const late = await console.ask<{ complete: boolean }>('/api/wait?report=budgets&fresh=1d&timeout=1s')
    expect(late).toMatchObject({ complete: false, reports: [{ report: 'budgets', state: 'blocked' }] })
    for (const query of ['report=events', 'report=invoices&fresh=1d', 'report=events&fresh=soon'])
      expect((await console.ask(`/api/wait?${query}`)).status).toBe(400)
  })

  it('sends the changes since a cursor, and says why it refuses one', async () => {
    type Changes = { changes: { table: string; change: string }[]; cursor: string }
    const all = await console.ask<Changes>('/api/changes?report=events&children=true')
    expect(new Set(all.changes.map(({ table }) => table))).toContain('events__meeting_rooms')
    expect(all.changes.filter(({ table, change }) => table === 'events' && change === 'insert').length).toBeGreaterThan(
      0,
    )
    const none = await console.ask<Changes>(`/api/changes?report=events&since=${all.cursor}`)
    expect(none).toEqual({ status: 200, changes: [], cursor: all.cursor })
    expect(await console.ask('/api/changes?report=events&since=99-0123456789ab')).toMatchObject({
      status: 410,
      error: { code: 'CURSOR_EXPIRED', cure: expect.stringContaining('Read all rows again') as string },
    })
    for (const query of ['report=events&since=yesterday', 'report=invoices', 'since=start'])
      expect((await console.ask(`/api/changes?${query}`)).status).toBe(400)
  })

  it('keeps nothing of a request for changes whose client has left', async () => {
    const headers = { authorization: `Bearer ${TOKEN}` }
    for (let n = 0; n < 6; n += 1) {
      const leaving = new AbortController()
      const answer = await fetch(`${console.url}/api/changes?report=events&children=true`, {
        headers,
        signal: leaving.signal,
      })
      leaving.abort()
      await answer.text().catch(() => undefined)
    }
    expect(await console.ask('/api/changes?report=events&since=now')).toMatchObject({ status: 200, changes: [] })
    expect(console.worker.said()).not.toMatch(/MaxListeners|could not answer/)
  })

  it('keeps nothing of a request to wait whose client has left, nor of one that was answered', {
    tags: 'long',
  }, async () => {
    const url = `${console.url}/api/wait?report=events`
    const headers = { authorization: `Bearer ${TOKEN}` }
    const leaving = Array.from({ length: 20 }, () =>
      fetch(`${url}&until=2100-01-01T00:00:00Z&timeout=5m`, { headers, signal: AbortSignal.timeout(1_500) }),
    )
    expect((await Promise.allSettled(leaving)).map(({ status }) => status)).toEqual(Array(20).fill('rejected'))
    // The worker notices a moment later that the clients have left.
    await until(
      async () => (await console.ask<{ complete?: true }>('/api/wait?report=events&fresh=1d')).complete === true,
    )
    for (let n = 0; n < 15; n += 1) {
      expect(await console.ask('/api/wait?report=events&fresh=1d')).toMatchObject({ status: 200, complete: true })
    }
    expect(console.worker.said()).not.toMatch(/MaxListeners|could not answer/)
  })

  it('shows what needs somebody, and why', async () => {
    const { attention } = await console.ask<{ attention: { kind: string; reports: string[]; cure: string }[] }>(
      '/api/overview',
    )
    expect(attention).toContainEqual(
      expect.objectContaining({ kind: 'rejected', reports: ['events'], action: 'retry-rejected', urgent: false }),
    )
    expect(attention.every(({ cure }) => cure.length > 0)).toBe(true)
  })

  it('shows rejected rows whole, with the reason, and tries them again', { tags: 'long' }, async () => {
    const { total, rows } = await console.ask<{ total: number; rows: { reason: string; row: string }[] }>(
      '/api/rejected?report=events&limit=3',
    )
    expect(total).toBeGreaterThan(3)
    expect(rows).toHaveLength(3)
    for (const { reason, row } of rows) expect([reason.length > 0, row.startsWith('{')]).toEqual([true, true])
    const twice = [0, 1].map(() => console.carryOut('/api/rejected/retry', { reports: ['events'] }))
    for (const { outcomes } of await Promise.all(twice))
      expect(outcomes[0]?.text).toMatch(/^events: \d+ of \d+ rows loaded, \d+ rejected again$/)
  })

  it('shows a run with the lines of its log, as "tidemark logs" does', async () => {
    const { runs } = await console.ask<{ runs: { run_id: string; report: string }[] }>(
      '/api/runs?report=enquiries&limit=1',
    )
    const id = runs[0]?.run_id ?? ''
    type RunAnswer = { run: object; lines: { msg: string; runId: string }[] }
    const look = () => console.ask<RunAnswer>(`/api/runs/${id}`)
    // The worker logs the end of a run after the commit that ends it in the books.
    await until(async () => (await look()).lines.some(({ msg }) => /^enquiries.*: \d+ pages?/.test(msg)))
    const { run, lines } = await look()
    expect(run).toMatchObject({ report: 'enquiries', state: 'done', error: null })
    expect(lines.length).toBeGreaterThanOrEqual(2)
    expect(lines.every(({ runId }) => runId === id)).toBe(true)
    const { stdout } = await console.workshop.run('logs', id, '--json')
    expect(
      stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as object),
    ).toEqual(lines)
    expect((await console.workshop.run('logs', 'enquiries')).stdout).toMatch(/info +enquiries.*: \d+ pages?/)
    expect(await console.workshop.run('logs', 'nobody')).toMatchObject({ code: 2 })
  }, 120_000)

  it('shows where the mark stood after each run, and covered time', { tags: 'long' }, async () => {
    await console.carryOut('/api/sync', { reports: ['events'] })
    const { marks, standing } = await console.ask<{
      marks: { at: string; mark: string }[]
      standing: { mark: string; coverage: { covered: object[]; gaps: object[] }[] }
    }>('/api/reports/events')
    expect(marks.length).toBeGreaterThanOrEqual(2)
    for (const { at, mark } of marks) expect(Date.parse(mark)).toBeLessThan(Date.parse(at))
    expect(Math.abs(Date.parse(marks.at(-1)?.mark ?? '') - Date.parse(standing.mark))).toBeLessThan(2_000)
    expect(standing.coverage[0]).toMatchObject({ covered: [expect.anything()], gaps: [] })
  })

  it('cancels what runs, and says so when there is nothing to cancel', { tags: 'long', timeout: 120_000 }, async () => {
    console.workshop.sandbox.setFaults(['slow@events:2000'])
    const errand = await console.ask<Errand>('/api/backfills', { report: 'events', from: '2021-01-01' })
    expect(errand).toMatchObject({ status: 202, state: 'running' })
    let id = ''
    await until(async () => {
      const { running } = await console.ask<{ running: { run_id: string; kind: string }[] }>('/api/overview')
      id = running.find(({ kind }) => kind === 'backfill')?.run_id ?? ''
      return id !== ''
    })
    expect((await console.carryOut('/api/cancel', { id })).outcomes[0]?.text).toBe('cancelled: the backfill of events')
    console.workshop.sandbox.setFaults([])
    const { backfills } = await console.ask<{ backfills: { backfill_id: string; state: string }[] }>('/api/backfills')
    expect(backfills.find(({ backfill_id: each }) => each === id)).toMatchObject({ state: 'cancelled' })
    const { error, status } = await console.ask<{ error: { cure: string }; status: number }>('/api/cancel', {
      id: 'nobody',
    })
    expect([status, error.cure.length > 0]).toEqual([400, true])
  })

  it('runs a report once that a request names twice', async () => {
    const errand = await console.carryOut('/api/sync', { reports: ['events', 'events'] })
    expect(errand).toMatchObject({ state: 'done', reports: ['events'], outcomes: [{ report: 'events' }] })
  })

  it('refuses a range that cannot be, before anything is begun', async () => {
    for (const range of [{ from: 'yesterday' }, { from: '2024-02-01', to: '2024-01-01' }, { to: '2099-01-01' }]) {
      const answer = await console.ask<{ status: number; error: { code: string; cure: string } }>('/api/backfills', {
        report: 'events',
        ...range,
      })
      expect(answer).toMatchObject({ status: 400, error: { code: 'USAGE_INVALID' } })
    }
  })

  it('sends what runs as it happens', { tags: 'long', timeout: 120_000 }, async () => {
    console.workshop.sandbox.setFaults(['slow@enquiries:600'])
    const stream = await fetch(`${console.url}/api/live`, { headers: { authorization: `Bearer ${TOKEN}` } })
    expect(stream.headers.get('content-type')).toBe('text/event-stream')
    const asked = console.carryOut('/api/sync', { reports: ['enquiries'] })
    let told = ''
    for await (const piece of stream.body as unknown as AsyncIterable<Uint8Array>) {
      told += Buffer.from(piece).toString()
      if (/"running":\[\{[^]*"running":\[\]/.test(told)) break
    }
    expect(told).toMatch(/"report":"enquiries","kind":"incremental"/)
    console.workshop.sandbox.setFaults([])
    expect((await asked).state).toBe('done')
  })

  it('tells every page that a run has ended, though others are opened in that moment', {
    tags: 'long',
    timeout: 120_000,
  }, async () => {
    console.workshop.sandbox.setFaults(['slow@enquiries:600'])
    const leave = new AbortController()
    const look = (signal = leave.signal) =>
      fetch(`${console.url}/api/live`, { headers: { authorization: `Bearer ${TOKEN}` }, signal })
    const stream = await look()
    const asked = console.carryOut('/api/sync', { reports: ['enquiries'] })
    const others = (async () => {
      while (!leave.signal.aborted) {
        await look(AbortSignal.timeout(1_000)).catch(() => undefined)
        await systemClock.sleep(60)
      }
    })()
    let told = ''
    for await (const piece of stream.body as unknown as AsyncIterable<Uint8Array>) {
      told += Buffer.from(piece).toString()
      if (/"running":\[\{[^]*"running":\[\]/.test(told)) break
    }
    leave.abort()
    await others
    console.workshop.sandbox.setFaults([])
    expect((await asked).state).toBe('done')
  })

  it('tells where the console is to "tidemark status"', async () => {
    const { stdout } = await console.workshop.run('status', '--json')
    expect((JSON.parse(stdout) as { console: string }).console).toBe(console.url)
  })
})
