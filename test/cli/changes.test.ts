/** `tidemark changes` as it is typed: what it prints, how it goes on from a cursor, and what it refuses. */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { aWorld, LAUNCHER, until, type World } from './support.ts'

interface Change {
  readonly table: string
  readonly change: string
  readonly row: { readonly event_id: number; readonly is_deleted: boolean }
}

/** Returns the changes and the cursor that JSON lines contain. */
function parsed(stdout: string): { changes: Change[]; cursor: string } {
  const lines = stdout.trimEnd().split('\n')
  const { cursor } = JSON.parse(lines.pop() ?? '') as { cursor: string }
  return { changes: lines.map((line) => JSON.parse(line) as Change), cursor }
}

const changesOf = async (world: World, ...args: string[]) => {
  const { code, stdout, stderr } = await world.run('changes', ...args)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return parsed(stdout)
}

async function editOne(world: World): Promise<number> {
  const id = Number(world.sandbox.world.liveKeys('events')[0])
  world.sandbox.world.edit('events', id)
  await world.run('sync', 'events', '--quiet')
  return id
}

describe('tidemark changes', () => {
  it('prints all rows first, then what changed since the stored cursor, each once, then nothing', async () => {
    await using world = await aWorld()
    await world.run('sync', 'events', '--quiet')
    const given = ['events', '--cursor-file', 'events.cursor', '--since', 'start']
    const first = await changesOf(world, ...given)
    expect(new Set(first.changes.map(({ change, row }) => [change, row.is_deleted].join()))).toEqual(
      new Set(['insert,false', 'delete,true']),
    )
    expect(await readFile(path.join(world.folder, 'events.cursor'), 'utf8')).toBe(`${first.cursor} events\n`)
    const id = await editOne(world)
    const second = await changesOf(world, ...given)
    expect(second.changes.map(({ change, row }) => [change, row.event_id])).toEqual([['update', id]])
    expect(await changesOf(world, ...given)).toEqual({ changes: [], cursor: second.cursor })
    const again = await changesOf(world, 'events', '--children', '--since', first.cursor)
    expect(again.changes.filter(({ table }) => table === 'events')).toEqual(second.changes)
    expect(await changesOf(world, 'events', '--since', 'now')).toEqual({ changes: [], cursor: second.cursor })
    // The stored cursor would skip the child rows that are older than it.
    const { code, stderr } = await world.run('changes', ...given, '--children')
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringContaining('cursor file of --children') as string,
    })
    const withChildren = ['events', '--children', '--cursor-file', 'children.cursor']
    expect((await changesOf(world, ...withChildren)).changes.length).toBeGreaterThan(first.changes.length)
    expect((await changesOf(world, ...withChildren)).changes).toEqual([])
  })

  it('prints CSV and writes parquet with the same rows, and the next cursor beside them', async () => {
    await using world = await aWorld()
    await world.run('sync', 'events', '--quiet')
    const { changes, cursor } = await changesOf(world, 'events')
    const csv = await world.run('changes', 'events', '--format', 'csv')
    expect(csv.stderr).toBe(`next cursor: ${cursor}\n`)
    expect(csv.stdout).toMatch(/^_change,event_id,/)
    await world.run('changes', 'events', '--format', 'parquet', '--output', 'changes.parquet')
    const { stdout } = await world.run('changes', 'events', '--format', 'csv', '--since', cursor)
    expect(stdout.split('\n')).toHaveLength(2)
    const bytes = await readFile(path.join(world.folder, 'changes.parquet'))
    expect(bytes.subarray(0, 4).toString()).toBe('PAR1')
    expect(csv.stdout.match(/^(insert|delete),/gm)).toHaveLength(changes.length)
  })

  it('follows: prints the changes of each publication until it is stopped', async () => {
    await using world = await aWorld()
    await world.run('sync', 'events', '--quiet')
    const following = world.start(['changes', 'events', '--since', 'now', '--follow'])
    await until(() => following.said().includes('"cursor"'), 'the first cursor')
    const id = await editOne(world)
    await until(() => following.said().includes(`"change":"update","row":{"event_id":${id},`), 'the change')
    await until(() => following.said().match(/"cursor"/g)?.length === 2, 'the next cursor')
    following.kill('SIGINT')
    expect(await following.ended).toMatchObject({ code: 0 })
  })

  it.runIf(existsSync('/dev/full'))(
    'fails and stores no cursor if the disk of its output is full, and so do other commands',
    { tags: 'long' },
    async () => {
      await using world = await aWorld()
      await world.run('sync', 'events', '--quiet')
      const { folder: cwd } = world
      const fillDisk = (...args: string[]) =>
        spawnSync('sh', ['-c', '"$@" > /dev/full', 'sh', process.execPath, LAUNCHER, ...args], {
          cwd,
          env: { PATH: process.env['PATH'], HOME: cwd, REPORTING_CLIENT_SECRET: 'unused' },
          timeout: 60_000,
        })
      for (const args of [
        ['changes', 'events', '--cursor-file', 'events.cursor'],
        ['changes', 'events', '--format', 'csv', '--cursor-file', 'events.cursor'],
        ['query', '--format', 'csv', 'FROM main.events, range(50)'],
        ['query', '--format', 'json', 'FROM main.events, range(50)'],
        ['query', 'SELECT 1 AS one'],
        ['status', '--json'],
      ]) {
        const { status, signal, stderr } = fillDisk(...args)
        expect({ args, status, signal }).toEqual({ args, status: 1, signal: null })
        expect(stderr.toString()).toContain('the output could not be written: ENOSPC')
        expect(stderr.toString()).toContain('DISK_FULL')
      }
      expect(existsSync(path.join(cwd, 'events.cursor'))).toBe(false)
    },
  )

  it('can be asked in SQL, with the function of each table', { tags: 'long' }, async () => {
    await using world = await aWorld()
    await world.run('sync', 'events', '--quiet')
    const { cursor } = await changesOf(world, 'events', '--since', 'now')
    const id = await editOne(world)
    const sql = `SELECT _change, event_id FROM changes.events('${cursor}')`
    expect((await world.run('query', '--format', 'csv', sql)).stdout).toBe(`_change,event_id\nupdate,${id}\n`)
    const refused = await world.run('query', `FROM tidemark.changes('events', '${cursor}')`)
    expect(refused.stderr).toContain('not on the list of functions for readers')
  })

  it('refuses a table too many and a cursor file of other reports before anything is read', async () => {
    await using world = await aWorld()
    await writeFile(path.join(world.folder, 'events.cursor'), '99-0123456789ab events\n')
    await writeFile(path.join(world.folder, 'empty.cursor'), '')
    for (const [args, words] of [
      [['events', 'budgets', '--format', 'csv'], 'csv has the changes of one table'],
      [['events', '--format', 'parquet', '--output', 'x.parquet', '--follow'], 'cannot be followed'],
      [['budgets', '--cursor-file', 'events.cursor'], 'events.cursor is no cursor file of budgets'],
      [['events', '--cursor-file', 'empty.cursor'], 'empty.cursor is no cursor file'],
      [['events', '--cursor-file', '.'], `${world.folder} is no cursor file`],
    ] as const) {
      const stderr = expect.stringContaining(words) as string
      expect(await world.run('changes', ...args)).toMatchObject({ code: 2, stderr })
    }
  })

  it('refuses what is no cursor, a lost state, several tables as CSV, and parquet without a file; names a report that is off', {
    tags: 'long',
  }, async () => {
    await using world = await aWorld({ settings: { reports: { merf_submissions: { enabled: false } } } })
    expect(await world.run('changes', 'events')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('nothing was published yet') as string,
    })
    await world.run('sync', 'events', '--quiet')
    await world.run('changes', 'events', '--cursor-file', 'events.cursor')
    await writeFile(path.join(world.folder, 'empty.cursor'), '')
    for (const [args, words, code] of [
      [['events', '--since', 'yesterday'], '"yesterday" is no cursor', 2],
      [['events', '--since', '99-0123456789ab'], 'CURSOR_EXPIRED', 1],
      [['events', '--since', '99-0123456789ab'], 'Read all rows again, with the cursor "start"', 1],
      [['invoices'], 'there is no report "invoices"', 2],
      [['events', 'budgets', '--format', 'csv'], 'csv has the changes of one table', 2],
      [['events', '--format', 'parquet'], '--output is missing', 2],
      [['events', '--format', 'parquet', '--output', 'x.parquet', '--follow'], 'cannot be followed', 2],
      [['events', '--cursor-file', 'no/such/folder/cursor'], 'cannot be written', 2],
      [['budgets', '--cursor-file', 'events.cursor'], 'events.cursor is no cursor file of budgets', 2],
      [['events', '--cursor-file', 'empty.cursor'], 'empty.cursor is no cursor file', 2],
      [['merf_submissions'], 'merf_submissions: off, so no run reads new changes', 0],
    ] as const) {
      const ended = await world.run('changes', ...args)
      expect({ args, code: ended.code, stderr: ended.stderr }).toEqual({
        args,
        code,
        stderr: expect.stringContaining(words) as string,
      })
    }
  })
})
