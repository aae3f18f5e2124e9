/**
 * `tidemark verify`: a past window compared with the service, told in words and by the exit code, with nothing written.
 */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { type Sandbox, startSandbox } from '../../src/sandbox/server.ts'
import { Database } from '../../src/warehouse/database/duckdb.ts'
import { aPlace, type Place } from './support.ts'

const SETTINGS = { currencies: ['EUR'] }
const ENV = { REPORTING_CLIENT_SECRET: 'demo-secret', TIDEMARK_HASH_KEY: 'a key of enough characters' }

interface Window {
  readonly rows: number
  readonly missing: { readonly rows: number; readonly keys: readonly string[] }
  readonly different: { readonly rows: number; readonly keys: readonly string[] }
  readonly extra: { readonly rows: number; readonly keys: readonly string[] }
  readonly unmatched: number
  readonly held: number
}

async function verified(
  place: Place,
  report: string,
  ...args: string[]
): Promise<{ code: number | null; windows: Window[] }> {
  const { code, stdout, stderr } = await place.run('verify', report, '--json', ...args)
  const { reports } = JSON.parse(stdout || stderr) as { reports: { windows: Window[] }[] }
  return { code, windows: reports[0]?.windows ?? [] }
}

async function aSyncedPlace(sandbox: Sandbox, settings: object = {}): Promise<Place> {
  const yaml = { service: { base_url: sandbox.url, client_id: 'demo' }, ...SETTINGS, ...settings }
  const place = await aPlace({ files: { 'tidemark.yaml': JSON.stringify(yaml) }, env: ENV })
  await place.run('sync', 'events', 'budgets', 'merf_submissions')
  return place
}

const fingerprint = async (place: Place): Promise<string[]> =>
  Promise.all(
    ['warehouse.duckdb', 'published.duckdb'].map(async (file) =>
      createHash('sha256')
        .update(await readFile(path.join(place.folder, 'data', file)))
        .digest('hex'),
    ),
  )

describe('tidemark verify', () => {
  it('finds nothing where nothing is wrong, and writes nothing', { tags: 'long' }, async () => {
    await using sandbox = await startSandbox({ rows: 60 })
    await using place = await aSyncedPlace(sandbox, {
      reports: { events: { history: true, columns: { town: 'hash' } } },
    })
    const before = await fingerprint(place)
    const [events, budgets] = [await verified(place, 'events'), await verified(place, 'budgets')]
    for (const { code, windows } of [events, budgets]) {
      expect([code, windows.length]).toEqual([0, 1])
      expect(windows[0]).toMatchObject({ missing: { rows: 0 }, different: { rows: 0 }, extra: { rows: 0 } })
    }
    expect(events.windows[0]?.rows).toBe(60)
    expect(await fingerprint(place)).toEqual(before)
    const said = await place.run('verify')
    expect(said.code, said.stdout + said.stderr).toBe(2)
    expect(said.stdout).toContain('merf_submissions')
    expect(said.stdout).toContain('enquiries: not verified, since it was never read to its end')
  })

  it('needs no turn at the warehouse: it compares the copy while another process has the file', {
    tags: 'long',
  }, async () => {
    await using sandbox = await startSandbox({ rows: 10 })
    await using place = await aSyncedPlace(sandbox)
    await using _owner = await Database.open(path.join(place.folder, 'data/warehouse.duckdb'), { memory: '256MB' })
    const { code, windows } = await verified(place, 'events')
    expect([code, windows[0]?.rows]).toEqual([0, 10])
  })

  it('tells a silent change from a missing row and from one that is gone, and what to do', {
    tags: 'long',
  }, async () => {
    await using sandbox = await startSandbox({ rows: 60 })
    await using place = await aSyncedPlace(sandbox)
    const { world } = sandbox
    const [silent, moved, flagged] = world.liveKeys('events') as [number, number, number]
    world.silentEdit('events', silent)
    world.edit('events', moved)
    world.softDelete('events', flagged)
    const late = world.lateCommit('events', 3_600_000)
    const { code, windows } = await verified(place, 'events')
    expect(code).toBe(1)
    expect(windows[0]).toMatchObject({
      different: { rows: 1, keys: [String(silent)] },
      missing: { rows: 1, keys: [String(late.key)] },
      // Edited and deleted since: they stand behind the window by now, and are no error.
      extra: { rows: 0 },
    })
    const said = await place.run('verify', 'events')
    expect(said.stdout).toMatch(/events: 1 missing: \d+\n {2}what to do: tidemark backfill events --from 2000-01-01/)
    expect(said.stdout).toContain(`events: 1 different: ${silent}`)
  })

  it('takes an event whose children changed since for no error, though its own stamp still stands in the window', {
    tags: 'long',
  }, async () => {
    await using sandbox = await startSandbox({ rows: 10 })
    await using place = await aSyncedPlace(sandbox)
    const { world } = sandbox
    const [changed, silent] = world.liveKeys('events') as [number, number]
    // Behind the mark, which has whole seconds.
    await new Promise((resolve) => setTimeout(resolve, 1_050))
    world.editChild('events', changed)
    expect(await verified(place, 'events')).toMatchObject({ code: 0 })
    world.silentEdit('events', silent)
    const { code, windows } = await verified(place, 'events')
    expect([code, windows[0]?.different]).toEqual([1, { rows: 1, keys: [String(silent)] }])
  })

  it('says how many rows match no window, and who compares them', { tags: 'long' }, async () => {
    await using sandbox = await startSandbox({ rows: 60 })
    await using place = await aSyncedPlace(sandbox)
    await place.run('sync', 'enquiries')
    const { code, windows } = await verified(place, 'enquiries')
    const [{ rows, held, unmatched } = { rows: 0, held: 0, unmatched: 0 }] = windows
    expect([code, held]).toEqual([0, sandbox.world.liveKeys('enquiries').length])
    expect(unmatched).toBeGreaterThan(0)
    expect(unmatched).toBe(held - rows)
    const said = await place.run('verify', 'enquiries')
    expect(said.stdout).toContain(
      `enquiries: ${unmatched} of ${held} rows match no window, since they were never edited`,
    )
    expect(said.stdout).toContain('tidemark reconcile enquiries compares them')
    expect((await verified(place, 'events')).windows[0]).toMatchObject({
      unmatched: 0,
      held: sandbox.world.liveKeys('events').length,
    })
  })

  it('does not call a row gone that the service sends and that could not be stored', { tags: 'long' }, async () => {
    await using sandbox = await startSandbox({ rows: 10 })
    await using place = await aSyncedPlace(sandbox)
    const { world } = sandbox
    const key = world.liveKeys('budgets')[0] as number
    const { modified } = world.stampsOf('budgets', key)
    world.putRow('budgets', key, { budgetName: '"once","budgetName":"again"' })
    world.setStamps('budgets', key, modified)
    const { windows } = await verified(place, 'budgets')
    expect(windows[0]).toMatchObject({ missing: { rows: 0 }, extra: { rows: 0 } })
  })

  it('agrees with a backfill and a reconcile about an edit whose stamp went back', { tags: 'long' }, async () => {
    await using sandbox = await startSandbox({ rows: 10 })
    await using place = await aSyncedPlace(sandbox, { defaults: { settle: '0s' } })
    const key = sandbox.world.liveKeys('budgets')[0] as number
    await new Promise((resolve) => setTimeout(resolve, 2_100))
    sandbox.setFaults(['stamps-back:86400'])
    sandbox.world.edit('budgets', key)
    expect((await verified(place, 'budgets')).windows[0]).toMatchObject({ different: { rows: 1 } })
    expect((await place.run('reconcile', 'budgets')).stdout).toMatch(/budgets +\d+ +0 +1 /)
    expect(await verified(place, 'budgets')).toMatchObject({ code: 0 })
  })

  it('ends with 1 where something differs, also beside a report that cannot be verified', {
    tags: 'long',
  }, async () => {
    await using sandbox = await startSandbox({ rows: 10 })
    await using place = await aSyncedPlace(sandbox)
    sandbox.world.silentEdit('events', sandbox.world.liveKeys('events')[0] as number)
    const { code, stdout } = await place.run('verify', 'events', 'enquiries')
    expect(code).toBe(1)
    expect(stdout).toMatch(/events: 1 different[^]*enquiries: not verified/)
  })

  it('refuses a window that was not read yet, an audit report, and a warehouse without a copy', {
    tags: 'long',
  }, async () => {
    await using sandbox = await startSandbox({ rows: 10 })
    await using place = await aSyncedPlace(sandbox)
    const future = await place.run('verify', 'events', '--to', '2999-01-01')
    expect(future.stdout).toContain('behind what was read')
    expect(future.stdout.match(/events/g)).toEqual(['events', 'events'])
    expect([future.code, (await place.run('verify', 'enquiry_audit_entries')).code]).toEqual([2, 2])
    const late = await place.run('verify', 'events', '--from', '2999-01-01')
    expect(late.code).toBe(2)
    expect(late.stdout).toMatch(/--from is later than its mark[^]*what to do: Give a --from before its mark, 20/)
    const early = await place.run('verify', 'events', '--to', '1999-01-01')
    expect(early.code).toBe(2)
    expect(early.stdout).toMatch(/--to is before its start[^]*what to do: Give a --to later than its start, 2000-/)
    const crossed = await place.run('verify', 'events', '--from', '2020-02-01', '--to', '2020-01-01')
    expect(crossed.stdout).toContain('what to do: Give a --from before --to.')
    const yaml = { service: { base_url: sandbox.url, client_id: 'demo' } }
    await using empty = await aPlace({ files: { 'tidemark.yaml': JSON.stringify(yaml) }, env: ENV })
    expect((await empty.run('verify', 'events')).stderr).toContain('no published copy')
  })
})
