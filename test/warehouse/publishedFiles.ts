/** Warehouses that were published several times, and readers that keep a published file open, for tests. */
import { type ChildProcessByStdio, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { link, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { CopyWay } from '../../src/warehouse/publish/publish.ts'
import { aWarehouse, type OpenWarehouse } from '../support/warehouse.ts'

export const source = (path: string): string => fileURLToPath(new URL(`../../src/warehouse/${path}`, import.meta.url))

export interface Publication extends OpenWarehouse {
  readonly to: string
  readonly retired: string
}

/** Creates a warehouse with about `megabytes` that cannot be compressed, and publishes it `times` times. */
export async function aPublished(megabytes: number, times = 2): Promise<Publication> {
  const opened = await aWarehouse()
  const rows = Math.round((megabytes * 1e6) / 40)
  const columns = [0, 1, 2, 3].map((n) => `hash(i, ${n}) AS c${n}`).join(', ')
  await opened.warehouse.rows(`CREATE TABLE main.ballast AS SELECT i, ${columns} FROM range(${rows}) t(i)`)
  const to = join(opened.folder, 'published.duckdb')
  const published = Object.assign(opened, { to, retired: join(opened.folder, '.published.duckdb.retired') })
  for (let time = 0; time < times; time += 1) await publishChange(published)
  return published
}

let changes = 0
/** Changes the state of a report, and publishes. Returns how the copy was made. */
export async function publishChange(place: Pick<Publication, 'warehouse' | 'to'>): Promise<CopyWay | undefined> {
  changes += 1
  await place.warehouse.recordReportStates([{ report: 'events', enabled: false, offReason: `reason ${changes}` }])
  return (await place.warehouse.publish(place.to)).copied
}

/** Compares files in another process: if this process closed the warehouse's file, the lock would be lost. */
export function areEqual(one: string, other: string): boolean {
  try {
    execFileSync('cmp', ['--silent', one, other])
    return true
  } catch {
    return false
  }
}

export interface FileReader {
  /** Reads what the reader has open, ends the reader, and returns what it read. */
  finish(): Promise<Buffer>
}

/** The kinds of readers. Each opens the file, keeps it for a while, and reads it only then. */
export const READERS: Readonly<Record<string, (file: string) => Promise<FileReader>>> = {
  'a program that has opened the file': (file) => perl(`open(F, '<', '${file}'); ready(); local $/; print <F>;`),
  'a program that has mapped the file': (file) => perl(mapping(file)),
  'a copy in progress': async (file) => {
    // Nobody reads the pipe at first, so the program stops after its first kilobytes.
    const copying = spawn('cat', [file], { stdio: ['pipe', 'pipe', 'inherit'] })
    await once(copying.stdout, 'readable')
    return { finish: () => ended(copying) }
  },
  'a hard link': async (file) => {
    await link(file, `${file}.link`)
    return {
      finish: async () => {
        const bytes = await readFile(`${file}.link`)
        execFileSync('rm', [`${file}.link`])
        return bytes
      },
    }
  },
  'a DuckDB': async (file) => {
    const rows = `'SELECT *, rowid FROM main.ballast ORDER BY i'`
    const program = `
      const { Database } = await import(${JSON.stringify(source('database/duckdb.ts'))})
      const database = await Database.open('${file}', { readOnly: true, memory: '256MB' })
      process.stdout.write('ready')
      process.stdin.once('data', async () => {
        const [sum] = await database.rows('SELECT bit_xor(hash(t)) AS sum FROM (' + ${rows} + ') t')
        process.stdout.write(String(sum.sum), () => process.exit(0))
      })`
    return whenReady(spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: STDIO }))
  },
}

type Child = ChildProcessByStdio<Writable, Readable, null>
const STDIO: ['pipe', 'pipe', 'inherit'] = ['pipe', 'pipe', 'inherit']

/** Perl has no function for it, so this calls mmap by its number: 0, length, PROT_READ, MAP_SHARED, file, 0. */
const mapping = (file: string): string => `
  open(F, '<', '${file}'); my $bytes = -s F;
  my $at = syscall(${process.arch === 'arm64' ? 222 : 9}, 0, $bytes, 1, 1, fileno(F), 0); close(F);
  ready(); print unpack("P$bytes", pack('Q', $at));`

const perl = (program: string): Promise<FileReader> =>
  whenReady(
    spawn('perl', ['-e', `$| = 1; binmode STDOUT; sub ready { print 'ready'; <STDIN> } ${program}`], { stdio: STDIO }),
  )

async function whenReady(child: Child): Promise<FileReader> {
  await once(child.stdout, 'data')
  child.stdout.pause()
  return {
    finish: () => {
      child.stdin.write('go\n')
      return ended(child)
    },
  }
}

async function ended(child: Child): Promise<Buffer> {
  const [bytes] = await Promise.all([buffer(child.stdout), once(child, 'exit')])
  return bytes
}
