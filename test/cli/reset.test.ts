/** `tidemark reset`: asks first, and runs here or in the worker. */
import { expect, it } from 'vitest'
import { aWorldWithoutCollections as aWorld, until, type World } from './support.ts'

const rowsOf = async (world: World, from: string): Promise<string> => {
  const { stdout } = await world.run('query', '--format', 'csv', `SELECT count(*) AS n FROM ${from}`)
  return stdout.split('\n')[1] ?? ''
}

it('does nothing without a confirmation, for an unknown report, or for one that is off; with one, names the rows', async () => {
  await using world = await aWorld({ sandbox: { rows: 5 }, settings: { reports: { budgets: { enabled: false } } } })
  await world.run('sync', 'events')
  const unsure = await world.run('reset', 'events', '--empty')
  expect(unsure).toMatchObject({ code: 2, stderr: expect.stringContaining('events was not reset') })
  expect(unsure.stderr).toContain('or add --yes')
  const unknown = await world.run('reset', 'event', '--yes')
  expect(unknown).toMatchObject({ code: 2, stderr: expect.stringContaining('did you mean') })
  const off = await world.run('reset', 'budgets', '--yes')
  expect(off).toMatchObject({ code: 2, stderr: expect.stringContaining('Remove "enabled: false"') })
  const rows = await rowsOf(world, 'events')
  expect(rows).not.toBe('0')
  expect(await rowsOf(world, "tidemark.orders WHERE what = 'reset'")).toBe('0')
  const kept = await world.run('reset', 'events', '--yes')
  expect(kept.stdout).toBe(`events: ${rows} rows to read again; next: tidemark sync events\n`)
  expect(await rowsOf(world, 'events')).toBe(rows)
  const gone = await world.run('reset', 'events', '--empty', '--yes')
  expect(gone.stdout).toBe(`events: ${rows} rows deleted; next: tidemark sync events\n`)
  expect(await rowsOf(world, 'events')).toBe('0')
})

it('without a worker the next sync reads all rows; readers have rows all the time, or none with --empty', {
  tags: 'long',
}, async () => {
  await using world = await aWorld({ sandbox: { rows: 20 } })
  await world.run('sync', 'events')
  const rows = await rowsOf(world, 'events')
  const kept = await world.run('reset', 'events', '--yes')
  expect(kept).toMatchObject({ code: 0, stdout: `events: ${rows} rows to read again; next: tidemark sync events\n` })
  expect(await rowsOf(world, 'events')).toBe(rows)
  expect((await world.run('status')).stdout).toMatch(/^events: reading again .* after a reset$/m)
  const read = await world.run('sync', 'events', '--json')
  expect(JSON.parse(read.stdout)).toMatchObject({ reports: [{ changed: Number(rows) }] })
  const gone = await world.run('reset', 'events', '--empty', '--yes')
  expect(gone.stdout).toBe(`events: ${rows} rows deleted; next: tidemark sync events\n`)
  expect(await rowsOf(world, 'events')).toBe('0')
  expect(await rowsOf(world, "tidemark.orders WHERE what = 'reset' AND result = 'done'")).toBe('2')
  await world.run('sync', 'events')
  expect(await rowsOf(world, 'events')).toBe(rows)
})

it('is handed to the worker, which reads the rows at once', { tags: 'long' }, async () => {
  const settings = { defaults: { every: '1d', reconcile_every: 'never' } }
  await using world = await aWorld({ sandbox: { rows: 20 }, settings })
  const worker = world.start(['worker'], { isTied: true })
  await until(async () => (await world.run('query', 'FROM tidemark.marks')).stdout.includes('budgets'), 'a first run')
  const rows = await rowsOf(world, 'events')
  const reset = await world.run('reset', 'events', '--yes')
  expect(reset).toMatchObject({ code: 0, stdout: expect.stringContaining('the worker reads them now') })
  const load = "tidemark.loads WHERE report = 'events' AND updated > 0"
  await until(async () => (await rowsOf(world, load)) !== '0', 'a run that reads all rows')
  expect(await rowsOf(world, 'events')).toBe(rows)
  worker.kill('SIGTERM')
  await worker.ended
})
