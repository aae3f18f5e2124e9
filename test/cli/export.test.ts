/** `tidemark export` as it is typed: what it prints, what the next one writes, what it refuses. */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { reportNames } from '../../schema/index.ts'
import { aWorld, type World } from './support.ts'

interface Told {
  readonly replaced: boolean
  readonly generation: number
  readonly written: number
  readonly reports: readonly { report: string; rows: number; written: number }[]
}

const json = async (world: World, ...args: string[]): Promise<Told> =>
  JSON.parse((await world.run('export', '--to', 'out', '--json', ...args)).stdout) as Told

describe('tidemark export', () => {
  it('writes all reports, then what changed, then nothing', { tags: 'long' }, async () => {
    await using world = await aWorld()
    await world.run('sync', '--quiet')
    const { code, stdout, stderr } = await world.run('export', '--to', 'out')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/^events +10 +[\d,]+ +10 +10 /m)
    expect(stdout).toMatch(/files written, manifest 1: .*out.manifest\.json\n$/)
    expect(await json(world)).toMatchObject({ replaced: false, generation: 1, written: 0 })
    const [id] = world.sandbox.world.liveKeys('events')
    world.sandbox.world.edit('events', Number(id))
    await world.run('sync', 'events', '--quiet')
    const second = await json(world)
    expect(second).toMatchObject({ replaced: true, generation: 2 })
    expect(second.written).toBeGreaterThan(0)
    for (const { report, written } of second.reports) expect(written > 0, report).toBe(report === 'events')
    const { reports } = JSON.parse(await readFile(path.join(world.folder, 'out/manifest.json'), 'utf8')) as {
      reports: string[]
    }
    expect(reports).toEqual(reportNames)
  })

  it('exports the named reports alone', { tags: 'long' }, async () => {
    await using world = await aWorld()
    await world.run('sync', 'events', '--quiet')
    expect((await json(world, 'merf_submissions', 'events')).reports.map(({ report }) => report)).toEqual([
      'events',
      'merf_submissions',
    ])
    expect((await readdir(path.join(world.folder, 'out'))).filter((name) => name.startsWith('budgets'))).toEqual([])
  })

  it.skipIf(process.platform !== 'linux')('ends in words where a file system takes no new folder', async () => {
    await using world = await aWorld()
    expect(await world.run('sync', 'events', '--quiet')).toMatchObject({ code: 0 })
    expect(await world.run('export', '--to', '/proc/exports/mine')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/\/proc\/exports\/mine failed: E[A-Z]+[^]*EXPORT_FAILED/) as string,
    })
    await world.configure({ published: '/proc/copies/published.duckdb' })
    expect(await world.run('sync', 'events', '--quiet')).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/could not be replaced: E[A-Z]+.*PUBLISH_FAILED/) as string,
    })
    await world.configure({ warehouse: '/proc/tables/warehouse.duckdb' })
    expect(await world.run('sync', 'events', '--quiet')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/cannot be made or written: E[A-Z]+[^]*WAREHOUSE_MISSING/) as string,
    })
  })

  it('says what is wrong with the call, the folder or the time', { tags: 'long' }, async () => {
    await using world = await aWorld()
    const asked = async (...args: string[]) => {
      const { code, stdout, stderr } = await world.run('export', ...args)
      expect(stdout).toBe('')
      return { code, stderr }
    }
    expect(await asked()).toMatchObject({ code: 2, stderr: expect.stringMatching(/--to[^]*USAGE_INVALID/) as string })
    expect(await asked('--to', 'out')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/nothing was published yet[^]*WAREHOUSE_MISSING/) as string,
    })
    await world.run('sync', 'events', '--quiet')
    expect(await asked('--to', 'out', 'evnts')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/did you mean "events"[^]*REPORT_UNKNOWN/) as string,
    })
    await mkdir(path.join(world.folder, 'mine'))
    await writeFile(path.join(world.folder, 'mine/letter.txt'), 'dear')
    expect(await asked('--to', 'mine')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/holds other files[^]*EXPORT_REFUSED[^]*empty folder/) as string,
    })
    expect(await readdir(path.join(world.folder, 'mine'))).toEqual(['letter.txt'])
    // The folder of the configuration holds other things, too.
    expect(await asked('--to', '.')).toMatchObject({ code: 1 })
  })
})
