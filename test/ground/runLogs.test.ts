/** The kept log lines of runs: found again by run, bounded, torn lines left out, old hours removed. */
import { appendFile, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { type Instant, parseInstant } from '../../src/instant.ts'
import { createLog, inRun } from '../../src/log.ts'
import { lastRunOf, linesOfRuns, openRunLogs, RUN_LINES_MAX } from '../../src/runLogs.ts'
import { Secret } from '../../src/secret.ts'

let folder: string
beforeEach(async () => (folder = await mkdtemp(path.join(tmpdir(), 'tidemark-logs-'))))
afterEach(() => rm(folder, { recursive: true }))

const lineOf = (runId: string, msg: string, more = {}) =>
  `${JSON.stringify({ level: 30, time: '2026-01-01T00:00:00.000Z', runId, report: 'events', msg, ...more })}\n`

describe('log lines of runs', () => {
  it('are found by their run, also those of code that does not know it, at debug, without secrets', async () => {
    const kept = openRunLogs(folder, systemClock)
    const shown: string[] = []
    const log = createLog({
      level: 'info',
      pretty: false,
      destination: { write: (text) => shown.push(text) },
      keep: (line) => kept.take(line),
    })
    log.guard(new Secret('marked-secret'))
    log.info('before any run')
    await inRun({ runId: 'one', report: 'events' }, async () => {
      await systemClock.sleep(1)
      log.debug('deep inside, with marked-secret')
      log.child({ more: 1 }).info('beside it')
    })
    log.warn({ runId: 'two', report: 'budgets' }, 'another')
    expect((await linesOfRuns(folder, 'one')).map(({ msg }) => msg)).toEqual([
      'deep inside, with [secret]',
      'beside it',
    ])
    expect(await linesOfRuns(folder, 'two')).toMatchObject([{ msg: 'another', report: 'budgets' }])
    expect(await lastRunOf(folder, 'events')).toBe('one')
    expect(await lastRunOf(folder, 'enquiries')).toBeUndefined()
    expect(shown.map((line) => (JSON.parse(line) as { msg: string }).msg)).toEqual([
      'before any run',
      'beside it',
      'another',
    ])
    expect(JSON.stringify(shown)).not.toContain('marked-secret')
  })

  it('of a report are those of its last run that had something to tell, not of one that was skipped', async () => {
    const skipped = (runId: string) => lineOf(runId, 'incremental run begins', { level: 20 })
    await writeFile(path.join(folder, '2026-01-01T00.jsonl'), lineOf('failed', 'refused') + skipped('skipped 1'))
    await writeFile(path.join(folder, '2026-01-01T01.jsonl'), skipped('skipped 2') + skipped('skipped 3'))
    expect(await lastRunOf(folder, 'events')).toBe('failed')
    await rm(path.join(folder, '2026-01-01T00.jsonl'))
    expect(await lastRunOf(folder, 'events')).toBe('skipped 3')
  })

  it('are kept on when their folder was removed', async () => {
    const directory = path.join(folder, 'logs')
    const kept = openRunLogs(directory, systemClock)
    kept.take(lineOf('one', 'before'))
    await rm(directory, { recursive: true })
    kept.take(lineOf('one', 'after'))
    expect((await linesOfRuns(directory, 'one')).map(({ msg }) => msg)).toEqual(['after'])
  })

  it('end at their limit for each run', async () => {
    const kept = openRunLogs(folder, systemClock)
    for (let n = 0; n < RUN_LINES_MAX + 50; n += 1) kept.take(lineOf('loud', `line ${n}`))
    kept.take(lineOf('quiet', 'heard all the same'))
    expect(await linesOfRuns(folder, 'loud')).toHaveLength(RUN_LINES_MAX)
    expect(await linesOfRuns(folder, 'quiet')).toHaveLength(1)
  })

  it('are read although a killed process left a torn one', async () => {
    const file = path.join(folder, '2026-01-01T00.jsonl')
    await writeFile(file, `${lineOf('one', 'whole')}{"level":30,"runId":"one","ms`)
    await appendFile(file, `\n${lineOf('one', 'after it')}`)
    expect((await linesOfRuns(folder, 'one')).map(({ msg }) => msg)).toEqual(['whole', 'after it'])
  })

  it('are removed by the hour once they are old, and nothing else is', async () => {
    for (const name of ['2026-01-01T00.jsonl', '2026-01-02T05.jsonl', '2026-01-02T06.jsonl', 'notes.txt'])
      await writeFile(path.join(folder, name), lineOf('one', name))
    const kept = openRunLogs(folder, systemClock)
    expect(await kept.trim(parseInstant('2026-01-02T06:30:00Z') as Instant)).toBe(2)
    expect((await readdir(folder)).toSorted()).toEqual(['2026-01-02T06.jsonl', 'notes.txt'])
  })

  it('cost no run its end where nothing can be written', async () => {
    const file = path.join(folder, 'a file, no folder')
    await writeFile(file, '')
    const kept = openRunLogs(file, systemClock)
    kept.take(lineOf('one', 'lost'))
    expect(await linesOfRuns(file, 'one')).toEqual([])
  })
})

const RUNS = 2_000
const LINE_CHARACTERS = 5_000

describe('the counts of lines in memory', () => {
  it('do not keep the lines of their runs in memory', async () => {
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    const kept = openRunLogs(folder, systemClock)
    collect()
    const before = process.memoryUsage().heapUsed
    for (let run = 0; run < RUNS; run += 1) kept.take(lineOf(`run-number-${run}`, 'x'.repeat(LINE_CHARACTERS)))
    collect()
    expect(process.memoryUsage().heapUsed - before).toBeLessThan((RUNS * LINE_CHARACTERS) / 4)
  })
})
