/**
 * Runs that a command does itself are followed as a worker's are: their lines are found again, their spans are sent.
 */
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { reportsOnly } from '../jobs/support.ts'
import { aCollector, lineage } from '../operate/collector.ts'
import { aWorldWithoutCollections as aWorld, SECRET_TEXT } from './support.ts'

const LONG = { timeout: 120_000 }
const ONLY_EVENTS = { currencies: [], reports: reportsOnly({ events: {} }) }

interface KeptLine {
  readonly runId: string
  readonly level: number
  readonly msg: string
  readonly state?: string
  readonly what?: string
}

describe('a run from the command line', () => {
  it('is found again by its identifier and its report, whatever the command was and said', {
    ...LONG,
    tags: 'long',
  }, async () => {
    await using world = await aWorld({ settings: ONLY_EVENTS })
    const said = async (run: string) => {
      const { stdout } = await world.run('logs', run, '--json')
      return stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as KeptLine)
    }
    const synced = await world.run('sync', '--json', '--quiet')
    const { reports } = JSON.parse(synced.stdout) as { reports: { report: string; run_id: string }[] }
    const runId = reports.find(({ report }) => report === 'events')?.run_id ?? ''
    const lines = await said(runId)
    const messages = lines.map(({ msg }) => msg).join('\n')
    expect(messages).toMatch(/^events request: status 200, bytes \d+, \d+ ms$/m)
    expect(messages).toMatch(/^events page: page \d+, rows 40, bytes \d+, \d+ ms$/m)
    expect(messages).toMatch(/^events load: rows 40, inserted 40, /m)
    expect(messages).toMatch(/^events run: .*state done, /m)
    const endOfRun = [
      expect.objectContaining({ msg: expect.stringMatching(/^events: \d+ pages, 40 rows/) as string, inserted: 40 }),
    ]
    expect(lines.filter(({ state, what }) => state === 'done' && what === undefined)).toEqual(endOfRun)
    expect(await said('events')).toEqual(lines)

    for (const [kind, ...args] of [
      ['incremental', 'sync'],
      ['backfill', 'backfill', 'events', '--from', '2024-01-01'],
      ['reconcile', 'reconcile', 'events'],
    ] as const) {
      expect(await world.run(...args)).toMatchObject({ code: 0 })
      const kept = await said('events')
      expect(new Set(kept.map((line) => line.runId)).size, kind).toBe(1)
      const figures = expect.objectContaining({ kind, level: 30, state: 'done', rows: expect.any(Number) }) as object
      expect(kept.filter(({ level, state }) => level >= 30 && state !== undefined)).toEqual([figures])
    }
  })

  it('that fails tells there what to do, and its record and pause are in the books, also of a reconcile', {
    ...LONG,
    tags: 'long',
  }, async () => {
    await using world = await aWorld({ settings: ONLY_EVENTS })
    await world.run('sync')
    world.sandbox.setFaults(['403@events'])
    expect(await world.run('reconcile', 'events')).toMatchObject({ code: 1 })
    const { stdout } = await world.run('logs', 'events')
    const [first] = (await world.run('logs', 'events', '--json')).stdout.split('\n')
    const { runId } = JSON.parse(first ?? '') as { runId: string }
    expect((await world.run('logs', runId.slice(0, 8))).stdout).toBe(stdout)
    expect(await world.run('logs', runId.slice(0, 7))).toMatchObject({ code: 2 })
    expect(stdout).toMatch(/events \(reconcile\): failed: .*\n +what to do: .*tidemark resume events/)
    expect(stdout).not.toContain(SECRET_TEXT)
    const status = JSON.parse((await world.run('status', '--json')).stdout) as { reports: object[] }
    expect(status.reports).toContainEqual(expect.objectContaining({ report: 'events', state: 'paused' }))
  })

  it('leaves no more of them than is kept, although no worker ever looks', { ...LONG, tags: 'long' }, async () => {
    await using world = await aWorld({ settings: ONLY_EVENTS })
    const folder = path.join(world.folder, 'data/warehouse.duckdb.logs')
    await mkdir(folder, { recursive: true })
    await writeFile(path.join(folder, '2020-01-01T00.jsonl'), '{}\n')
    expect(await world.run('sync')).toMatchObject({ code: 0 })
    const kept = await readdir(folder)
    expect(kept.length).toBeGreaterThan(0)
    expect(kept).not.toContain('2020-01-01T00.jsonl')
  })

  it('is one trace for each report where the standard variables ask for it, with requests and loads', {
    ...LONG,
    tags: 'long',
  }, async () => {
    // The batch of the first command arrives twice, because its first answer is lost.
    await using collector = await aCollector({ lostAnswers: 1 })
    await using world = await aWorld({ settings: ONLY_EVENTS, env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url } })
    for (const args of [['sync'], ['backfill', 'events', '--from', '2024-01-01'], ['reconcile', 'events']]) {
      // A process has one tracer for all of its life.
      expect(await world.start(args).ended).toMatchObject({ code: 0 })
    }
    const { spans } = collector
    const roots = spans.filter(({ name }) => name === 'tidemark run')
    expect(roots.map(({ attributes }) => attributes.find(({ key }) => key === 'tidemark.kind')?.value)).toEqual([
      { stringValue: 'incremental' },
      { stringValue: 'backfill' },
      { stringValue: 'reconcile' },
    ])
    for (const root of roots) {
      const below = spans.filter((span) => lineage(spans, span)[0] === root).map(({ name }) => name)
      expect(below).toEqual(
        expect.arrayContaining(['tidemark run', 'tidemark walk', 'tidemark request', 'tidemark load']),
      )
    }
    expect(collector.received.length).toBeGreaterThan(3)
    expect(collector.received.join('\n')).not.toContain(SECRET_TEXT.slice(0, 14))
  })
})
