/** Kills publishers at many moments of a publication. After each kill, the published copy is sound and unchanged. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile, stat } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { Database } from '../../src/warehouse/database/duckdb.ts'
import { openAt } from '../support/warehouse.ts'
import { aPublished, areEqual, publishChange, READERS, source } from './publishedFiles.ts'

/** The kills are spread over this time (ms), in which a publisher publishes several times. */
const SPREAD_MS = 400
/** A prime number that is no divisor of the spread, so that the moments of the kills differ. */
const STEP_MS = 37

/** A program that changes all rows of a column and publishes, again and again. It prints how each copy was made. */
const publisher = (path: string, to: string): string => `
  const { Warehouse } = await import(${JSON.stringify(source('warehouse.ts'))})
  const warehouse = await Warehouse.open({ path: ${JSON.stringify(path)}, memory: '256MB' })
  for (let n = Date.now(); ; n += 1) {
    await warehouse.rows('UPDATE main.ballast SET c1 = ' + n + ', c2 = ' + n + ' WHERE i % 3 = ' + n % 3)
    await warehouse.recordReportStates([{ report: 'events', enabled: false, offReason: 'reason ' + n }])
    console.log((await warehouse.publish(${JSON.stringify(to)})).copied.way)
  }`

/** Reads each row of the copy. In a sound copy of one moment, both columns of each row are equal or both are old. */
async function torn(path: string): Promise<unknown> {
  await using copy = await Database.open(path, { readOnly: true, memory: '256MB' })
  const columns = 'count(*) FILTER ((c1 = hash(i, 1)) <> (c2 = hash(i, 2)) OR c1 <> hash(i, 1) AND c1 <> c2) AS torn'
  const [found] = await copy.rows<{ torn: number }>(`SELECT ${columns}, bit_xor(hash(t)) AS read FROM main.ballast t`)
  return found?.torn
}

/** Kills `times` publishers: each other time only the owner of the warehouse, else all its processes at once. */
export async function killPublishers(times: number): Promise<void> {
  await using published = await aPublished(3)
  const { path, to, warehouse } = published
  await warehouse.close()
  const ways = new Set<string>()
  for (let time = 0; time < times; time += 1) {
    // A reader in one of three rounds keeps its file while the publisher wants to patch it.
    const before = await readFile(to)
    const reader = time % 3 === 0 ? await READERS['a program that has opened the file']?.(to) : undefined
    const program = ['--input-type=module', '-e', publisher(path, to)]
    const child = spawn(process.execPath, program, { stdio: ['ignore', 'pipe', 'inherit'], detached: true })
    const ended = once(child, 'exit')
    child.stdout.on('data', (piece: Buffer) => {
      for (const way of piece.toString().trim().split('\n')) ways.add(way)
    })
    await once(child.stdout, 'data')
    await sleep((time * STEP_MS) % SPREAD_MS)
    process.kill(time % 2 === 0 ? (child.pid ?? 0) : -(child.pid ?? 0), 'SIGKILL')
    await ended
    expect(await torn(to), `kill ${time}`).toBe(0)
    if (reader !== undefined) expect((await reader.finish()).equals(before), `kill ${time}`).toBe(true)
  }
  expect(ways).toContain('blocks')
  await using last = await openAt(path)
  await publishChange({ warehouse: last, to })
  expect(areEqual(path, to)).toBe(true)
  const left = (await readdir(dirname(to))).filter((name) => name.includes(basename(to)))
  expect(left.toSorted()).toEqual(['.published.duckdb.retired', 'published.duckdb'])
  expect((await stat(to)).nlink).toBe(1)
}
