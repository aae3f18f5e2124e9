/**
 * Measures the cost of publishing after a small change, for several sizes of the file, and without a change. A table
 * that can't be compressed makes the files large. `BENCH_REFLINK` names a folder on a file system with reflink (XFS,
 * Btrfs), in which everything is measured again.
 */
import { mkdtemp, rm, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Line, median, type Options, type Suite, formatted } from '../measure.ts'
import { startTide, type Tide } from '../programs/start.ts'
import { type Service, startService } from '../service/start.ts'

const FILES_MB = [100, 1_000, 5_000]
const ROWS = 5_000
const BALLAST_COLUMNS = 16
/** The number of files on the disk: the warehouse, its copy, and the copy that replaces it. */
const COPIES = 3
const SECOND_MS = 1_100

const ballastSql = (mb: number, offset: number): string => {
  const rows = Math.round((mb * 1e6) / (8 * BALLAST_COLUMNS))
  const columns = Array.from({ length: BALLAST_COLUMNS }, (_, n) => `hash(i + ${offset}, ${n}) AS c${n}`)
  return `SELECT ${columns.join(', ')} FROM range(${rows}) t(i)`
}

/** Makes the file larger by `mb`. Commits piece by piece, so that memory does not grow. */
async function grow(tide: Tide, mb: number): Promise<void> {
  const piece = Math.min(mb, 250)
  await tide.order({ do: 'rows', sql: `CREATE TABLE IF NOT EXISTS main.ballast AS ${ballastSql(0, 0)}` })
  for (let done = 0; done < mb; done += piece)
    await tide.order({ do: 'rows', sql: `INSERT INTO main.ballast ${ballastSql(piece, done * 1e6)}` })
  await tide.order({ do: 'checkpoint' })
}

async function publishing({ service, tide }: { service: Service; tide: Tide }, rounds: number) {
  const changed: number[] = []
  const unchanged: number[] = []
  let fileMb = 0
  for (let n = 0; n < rounds; n += 1) {
    await service.change(100)
    await sleep(SECOND_MS)
    fileMb = (await tide.order({ do: 'sync', reports: ['events'] })).fileMb
    changed.push((await tide.order({ do: 'publish' })).ms)
    unchanged.push((await tide.order({ do: 'publish' })).ms)
  }
  return { fileMb, changedMs: median(changed), unchangedMs: median(unchanged) }
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
      const { fileMb, changedMs, unchangedMs } = await publishing({ service, tide }, rounds)
      lines.push({
        what: `${place.name}: publishing a file of ${formatted(fileMb, 0)} MB after a small change`,
        measured: `${formatted(changedMs, 0)} ms`,
        goal: '–',
        isMet: undefined,
        detail: `${formatted((fileMb / changedMs) * 1_000, 0)} MB/s; without a change ${formatted(unchangedMs, 0)} ms`,
      })
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
