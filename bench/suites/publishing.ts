/**
 * Measures the cost of publishing after a small change, after a run without changes, and without a run. `BENCH_REFLINK`
 * names a folder on XFS or Btrfs, in which all is measured again.
 */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdtemp, open, rm, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Line, median, type Options, type Suite, formatted } from '../measure.ts'
import { startTide, type Tide } from '../programs/start.ts'
import { type Service, startService } from '../service/start.ts'

const FILES_MB = [100, 1_000, 5_000]
const ROWS = 5_000
const BALLAST_COLUMNS = 16
/** The warehouse, its copy, the retired copy, and space for growth. */
const COPIES = 4
const NEXT_SECOND_MS = 1_100
const [HEADERS_BYTES, BLOCK_BYTES] = [12_288, 262_144]
const RETIRED = '.published.duckdb.retired'
/** In smaller files, the fixed part of a publication is most of it. */
const GOALS_FROM_MB = 900
const SHARE_MAX = 0.1
const WRITES_MAX = 2

const ballastSql = (mb: number, offset: number): string => {
  const rows = Math.round((mb * 1e6) / (8 * BALLAST_COLUMNS))
  const columns = Array.from({ length: BALLAST_COLUMNS }, (_, n) => `hash(i + ${offset}, ${n}) AS c${n}`)
  return `SELECT ${columns.join(', ')} FROM range(${rows}) t(i)`
}

/** Commits piece by piece, so that memory does not grow. */
async function grow(tide: Tide, mb: number): Promise<void> {
  const piece = Math.min(mb, 250)
  await tide.order({ do: 'rows', sql: `CREATE TABLE IF NOT EXISTS main.ballast AS ${ballastSql(0, 0)}` })
  for (let done = 0; done < mb; done += piece)
    await tide.order({ do: 'rows', sql: `INSERT INTO main.ballast ${ballastSql(piece, done * 1e6)}` })
  await tide.order({ do: 'checkpoint' })
}

async function digestsOf(path: string): Promise<string[]> {
  await using file = await open(path)
  const block = Buffer.alloc(BLOCK_BYTES)
  const digests: string[] = []
  for (let at = HEADERS_BYTES; ; at += BLOCK_BYTES) {
    const { bytesRead } = await file.read(block, 0, BLOCK_BYTES, at)
    if (bytesRead === 0) return digests
    digests.push(createHash('sha1').update(block.subarray(0, bytesRead)).digest('base64'))
  }
}

interface Place {
  readonly service: Service
  readonly tide: Tide
  readonly folder: string
}

async function byBlocks({ tide, folder }: Place) {
  // The checkpoint is no part of the publication.
  await tide.order({ do: 'checkpoint' })
  const retired = join(folder, RETIRED)
  const before = existsSync(retired) ? await digestsOf(retired) : []
  const { ms, writtenBytes } = await tide.order({ do: 'publish' })
  const after = before.length === 0 ? [] : await digestsOf(join(folder, 'published.duckdb'))
  return { ms, writtenBytes, blocks: after.filter((digest, n) => digest !== before[n]).length }
}

async function publishing(place: Place, rounds: number) {
  const { service, tide, folder } = place
  const figures = { changed: [] as number[], whole: [] as number[], unchanged: [] as number[], marks: [] as number[] }
  const writes = { bytes: 0, blocks: 0, marksBytes: 0 }
  let fileMb = 0
  const nextRun = async (rows: number) => {
    if (rows > 0) await service.change(rows)
    await sleep(NEXT_SECOND_MS)
    fileMb = (await tide.order({ do: 'sync', reports: ['events'] })).fileMb
  }
  for (const _ of [1, 2]) {
    await nextRun(0)
    await tide.order({ do: 'publish' })
  }
  for (let n = 0; n < rounds; n += 1) {
    await nextRun(100)
    const { ms, writtenBytes, blocks } = await byBlocks(place)
    figures.changed.push(ms)
    writes.bytes += writtenBytes
    writes.blocks += blocks
    figures.unchanged.push((await tide.order({ do: 'publish' })).ms)
    // A patch covers the last two runs, so the second of two runs without changed rows is measured.
    await nextRun(0)
    await tide.order({ do: 'publish' })
    await nextRun(0)
    const marks = await byBlocks(place)
    figures.marks.push(marks.ms)
    writes.marksBytes = Math.max(writes.marksBytes, marks.writtenBytes)
    await nextRun(100)
    await tide.order({ do: 'checkpoint' })
    await rm(join(folder, RETIRED), { force: true })
    figures.whole.push((await tide.order({ do: 'publish' })).ms)
  }
  const of = (name: keyof typeof figures) => median(figures[name])
  return {
    fileMb,
    changed: of('changed'),
    whole: of('whole'),
    unchanged: of('unchanged'),
    marks: of('marks'),
    ...writes,
  }
}

type CostFigures = Awaited<ReturnType<typeof publishing>>

function linesOf(name: string, measured: CostFigures): Line[] {
  const { fileMb, changed, whole, unchanged, marks, bytes, blocks, marksBytes } = measured
  const what = `${name}: publishing a file of ${formatted(fileMb, 0)} MB`
  const share = changed / whole
  const writes = bytes / (blocks * BLOCK_BYTES)
  const times = `${formatted(changed, 0)} ms; without any change ${formatted(unchanged, 0)} ms`
  if (blocks === 0)
    return [{ what: `${what} after a small change`, measured: times, goal: '–', isMet: undefined, detail: '' }]
  const isLarge = fileMb >= GOALS_FROM_MB
  return [
    {
      what: `${what} after a small change ÷ as a whole`,
      measured: formatted(share),
      goal: isLarge ? `≤ ${formatted(SHARE_MAX)}` : '–',
      isMet: isLarge ? share <= SHARE_MAX : undefined,
      detail: `${times}; as a whole ${formatted(whole, 0)} ms`,
    },
    {
      what: `${what}: bytes written ÷ bytes of the changed blocks`,
      measured: formatted(writes),
      goal: `≤ ${formatted(WRITES_MAX)}`,
      isMet: writes <= WRITES_MAX,
      detail: `${blocks} blocks of 256 KiB differed in all rounds together`,
    },
    {
      what: `${what} after a run without changed rows`,
      measured: `${formatted(marks, 0)} ms`,
      goal: '–',
      isMet: undefined,
      detail: `at most ${formatted(marksBytes / 1e6, 1)} MB were written, log and checkpoint included`,
    },
  ]
}

async function inPlace(place: { readonly folder: string; readonly name: string }, rounds: number): Promise<Line[]> {
  const lines: Line[] = []
  const folder = await mkdtemp(join(place.folder, 'tidemark-publishing-'))
  try {
    await using service = await startService('two', ROWS)
    await using tide = await startTide({ url: service.url, folder })
    await tide.order({ do: 'sync', reports: ['events'] })
    let heldMb = 0
    for (const mb of FILES_MB) {
      const { bavail, bsize } = await statfs(folder)
      if ((bavail * bsize) / 1e6 < COPIES * mb) break
      await grow(tide, mb - heldMb)
      heldMb = mb
      lines.push(...linesOf(place.name, await publishing({ service, tide, folder }, rounds)))
    }
    return lines
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function run({ rounds }: Options): Promise<Line[]> {
  const reflink = process.env['BENCH_REFLINK']
  const places = [{ folder: tmpdir(), name: 'copied' }]
  if (reflink !== undefined) places.push({ folder: reflink, name: 'reflink' })
  const lines: Line[] = []
  for (const place of places) lines.push(...(await inPlace(place, rounds)))
  return lines
}

export const publishingSuite: Suite = { name: 'publishing', about: 'the cost of the copy that readers open', run }
