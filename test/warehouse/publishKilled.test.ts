/** A publisher that is killed: its copy never becomes the published one, and nothing of it stays on the disk. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { enquiries } from '../../schema/reports/enquiries.ts'
import { isAlive, until } from '../cli/support.ts'
import { aFolder, aWarehouse, loadRows } from '../support/warehouse.ts'

const run = promisify(execFile)
const module = (path: string) => JSON.stringify(fileURLToPath(new URL(`../../src/warehouse/${path}`, import.meta.url)))
const node = (program: string) =>
  spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: ['ignore', 'pipe', 'inherit'] })

it('the copy ends with its publisher and leaves the published one as it was', { tags: 'long' }, async () => {
  await using folder = await aFolder()
  const [from, to] = [join(folder.path, 'pipe'), join(folder.path, 'published.duckdb')]
  await writeFile(to, 'the last one')
  // Nobody ever writes into the pipe, so the copy goes on until something ends it.
  await run('mkfifo', [from])
  const publisher = node(`
    const { copyInto } = await import(${module('publish/publish.ts')})
    await copyInto(${JSON.stringify(from)}, ${JSON.stringify(to)})`)
  let copiers: number[] = []
  const begun = async () => {
    const told = await run('pgrep', ['-P', String(publisher.pid)]).catch(() => ({ stdout: '' }))
    copiers = told.stdout.split('\n').filter(Boolean).map(Number)
    return copiers.length === 1
  }
  await until(begun, 'a copy that has begun')
  const [copier = 0] = copiers
  try {
    publisher.kill('SIGKILL')
    await once(publisher, 'exit')
    await until(() => !isAlive(copier), 'the end of the copy')
  } finally {
    if (isAlive(copier)) process.kill(copier, 'SIGKILL')
  }
  expect(await readFile(to, 'utf8')).toBe('the last one')
  expect((await readdir(folder.path)).toSorted()).toEqual(['pipe', 'published.duckdb'])
})

it('the disk holds the published copy and one retired copy however many publishers are killed', {
  tags: 'long',
}, async () => {
  await using opened = await aWarehouse()
  const rows = Array.from({ length: 2_000 }, (_, id) => ({ enquiryId: id, status: 1, bookerCompany: `company ${id}` }))
  await loadRows(opened, enquiries, rows)
  const to = join(opened.folder, 'out', 'published.duckdb')
  await opened.warehouse.publish(to)
  await opened.warehouse.close()
  const bytes = (await stat(to)).size
  for (let time = 0; time < 3; time += 1) {
    const publisher = node(`
      const { Warehouse } = await import(${module('warehouse.ts')})
      const warehouse = await Warehouse.open({ path: ${JSON.stringify(opened.path)}, memory: '256MB' })
      for (let n = 0; ; n += 1) {
        await warehouse.recordReportStates([{ report: 'events', enabled: false, offReason: 'reason ' + n }])
        await warehouse.publish(${JSON.stringify(to)})
        console.log('published')
      }`)
    const ended = once(publisher, 'exit')
    await once(publisher.stdout, 'data')
    // Each time at another moment of a publish.
    await new Promise((resolve) => void setTimeout(resolve, 13 * time))
    publisher.kill('SIGKILL')
    await ended
  }
  const last = node(`
    const { Warehouse } = await import(${module('warehouse.ts')})
    const warehouse = await Warehouse.open({ path: ${JSON.stringify(opened.path)}, memory: '256MB' })
    console.log(JSON.stringify(await warehouse.publish(${JSON.stringify(to)})))
    await warehouse.close()`)
  await once(last, 'exit')
  expect(await readdir(join(opened.folder, 'out'))).toEqual(['.published.duckdb.retired', 'published.duckdb'])
  expect((await stat(to)).size).toBeLessThan(bytes * 2)
})
