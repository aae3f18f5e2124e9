/** The control endpoint: what a test in another process can do to a running sandbox. */
import { describe, expect, it } from 'vitest'
import { aCaller, type Caller } from './caller.ts'

async function control(
  caller: Caller,
  call: string,
  body?: unknown,
): Promise<{ status: number; answer: Record<string, unknown> }> {
  const response = await fetch(
    `${caller.sandbox.url}/_control/${call}`,
    body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) },
  )
  return { status: response.status, answer: (await response.json()) as Record<string, unknown> }
}

describe('the control endpoint', () => {
  it('switches faults on and off', async () => {
    await using caller = await aCaller()
    expect(await control(caller, 'faults', { faults: ['5xx*1', 'no-date'] })).toEqual({
      status: 200,
      answer: { faults: ['5xx*1', 'no-date'] },
    })
    expect((await caller.report('events')).status).toBe(503)
    expect((await control(caller, 'state')).answer['faults']).toEqual(['no-date'])
    expect((await control(caller, 'faults', { faults: [] })).answer['faults']).toEqual([])
  })

  it('makes one change, of a row that is named or of any', async () => {
    await using caller = await aCaller()
    const [key = 0] = caller.world.liveKeys('events')
    const deleted = await control(caller, 'change', { action: 'softDelete', report: 'events', key })
    const inserted = await control(caller, 'change', { action: 'insert', report: 'budgets' })
    const late = await control(caller, 'change', { action: 'lateCommit', report: 'events', ms: 5_000 })
    const put = await control(caller, 'change', { action: 'putRow', report: 'enquiries', fields: { status: '"x"' } })
    const ticked = await control(caller, 'change', { action: 'tick' })
    expect([deleted, inserted, late, put, ticked].map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
    expect(caller.world.liveKeys('events')).not.toContain(key)
    expect(caller.world.row('enquiries', Number(put.answer['key']))).toMatchObject({ status: 'x' })
  })

  it('sets the pace of changes', async () => {
    await using caller = await aCaller()
    await control(caller, 'changes', { perSecond: 3 })
    expect((await control(caller, 'state')).answer['perSecond']).toBe(3)
    await control(caller, 'changes', { perSecond: 0 })
  })

  it('lists each request with its client and its errors', async () => {
    await using caller = await aCaller()
    await caller.report('events', { modifiedSince: 7 })
    const { answer } = await control(caller, 'requests')
    const requests = answer['requests'] as { path: string; client: string; status: number; problems: string[] }[]
    expect(requests.map(({ path, status, client }) => [path, status, client])).toEqual([
      ['/authenticationapi/Account/RequestToken', 200, 'demo'],
      ['/reportingapi/v1/EventReport/GetEventsReport', 400, 'demo'],
    ])
    expect(requests[1]?.problems).toEqual([expect.stringContaining('modifiedSince')])
    expect(caller.sandbox.requests.total).toBe(2)
  })

  it.each([
    ['faults', { faults: 'slow' }],
    ['faults', { faults: ['meteor'] }],
    ['changes', { perSecond: 'many' }],
    ['change', { action: 'explode', report: 'events' }],
    ['change', { action: 'edit', report: 'planets' }],
    ['change', { action: 'edit', report: 'events', key: 1 }],
  ])('refuses %s with %j and says what to send', async (call, body) => {
    await using caller = await aCaller()
    const { status, answer } = await control(caller, call, body)
    expect([status, typeof answer['cure']]).toEqual([400, 'string'])
  })

  it('answers 404 to a call that it does not have', async () => {
    await using caller = await aCaller()
    expect((await control(caller, 'nothing')).status).toBe(404)
  })
})
