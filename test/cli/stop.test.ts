/** Stopping at any moment: the exit code says by what, nothing committed is lost, nothing unfinished lies around. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { Warehouse } from '../../src/warehouse/warehouse.ts'
import { ROOT } from '../rules/source.ts'
import { liveRows } from '../support/held.ts'
import { aWorldWithoutCollections as aWorld, isAlive, LAUNCHER, SECRET_TEXT, until, type World } from './support.ts'

const warehouseIn = ({ folder }: World) => path.join(folder, 'data/warehouse.duckdb')

const slowly = () => aWorld({ sandbox: { faults: ['slow@enquiries:1500', 'slow@budgets:1500'] } })

/** Events answer at once, the others take their time: somebody stops in between. */
async function midRun(world: World) {
  const before = world.sandbox.requests.total
  const running = world.start(['sync', 'events', 'enquiries', 'budgets'])
  await until(() => world.sandbox.requests.total > before + 2, 'requests')
  return running
}

describe('stopping a sync', () => {
  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('by %s ends with %i and one line', { tags: 'long' }, async (signal, code) => {
    await using world = await slowly()
    const running = await midRun(world)
    running.kill(signal)
    const ended = await running.ended
    expect(ended).toMatchObject({ code, stdout: '' })
    expect(ended.stderr.split('\n').filter((line) => line.includes('stopping'))).toHaveLength(1)
    expect(ended.stderr).not.toContain('UNEXPECTED')
  })

  it('gives a machine its one document, which says that it was stopped', { tags: 'long' }, async () => {
    await using world = await slowly()
    const before = world.sandbox.requests.total
    const running = world.start(['sync', 'events', 'enquiries', 'budgets', '--json'])
    await until(() => world.sandbox.requests.total > before + 2, 'requests')
    running.kill('SIGINT')
    const { code, stdout } = await running.ended
    expect(code).toBe(130)
    expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'CANCELLED', cure: expect.stringContaining('again') } })
  })

  it('leaves a warehouse that goes on where it stopped, and no staged rows', { tags: 'long' }, async () => {
    await using world = await slowly()
    await world.run('sync', 'events')
    world.sandbox.world.edit('events', 100_001)
    const running = await midRun(world)
    running.kill('SIGINT')
    expect(await running.ended).toMatchObject({ code: 130 })
    expect(existsSync(`${warehouseIn(world)}.staging`)).toBe(false)
    world.sandbox.setFaults([])
    expect((await world.run('sync')).code).toBe(0)
    await using warehouse = await Warehouse.open({ path: warehouseIn(world), memory: '256MB' })
    expect(await liveRows({ warehouse }, 'events')).toBe(world.sandbox.world.liveKeys('events').length)
    expect(await liveRows({ warehouse }, 'budgets', 'EUR')).toBe(world.sandbox.world.liveKeys('budgets').length)
  })

  it('ends at once when it is asked a second time', { tags: 'long' }, async () => {
    await using world = await aWorld({ sandbox: { faults: ['slow:20000'] } })
    const running = world.start(['sync', 'events'])
    await until(() => world.sandbox.requests.total > 0, 'a request')
    running.kill('SIGINT')
    await new Promise((resolve) => void setTimeout(resolve, 700))
    running.kill('SIGINT')
    expect(await running.ended).toMatchObject({ code: 130 })
  })

  it('clears what a killed run left staged', { tags: 'long' }, async () => {
    await using world = await slowly()
    const running = await midRun(world)
    running.kill('SIGKILL')
    await running.ended
    world.sandbox.setFaults([])
    await until(async () => (await world.run('sync', 'enquiries')).code === 0, 'the lock is free')
    expect(existsSync(`${warehouseIn(world)}.staging`)).toBe(false)
  })
})

describe('a sync whose progress is read only at its beginning', () => {
  it.each([['events'], ['events', '--json']])('does its work and publishes: %j', { tags: 'long' }, async (...args) => {
    await using world = await aWorld({ sandbox: { faults: ['slow:1500'] } })
    const { folder: cwd } = world
    const env = { PATH: process.env['PATH'], HOME: cwd, REPORTING_CLIENT_SECRET: SECRET_TEXT }
    const child = spawn(process.execPath, [LAUNCHER, 'sync', ...args], {
      cwd,
      env,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    child.stderr.destroy()
    expect(await once(child, 'exit')).toEqual([0, null])
    expect(existsSync(path.join(cwd, 'data/published.duckdb'))).toBe(true)
  })
})

describe('a command that failed', () => {
  it('keeps its exit code if nobody reads its output', { tags: 'long' }, async () => {
    await using world = await aWorld()
    const { folder: cwd } = world
    const env = { PATH: process.env['PATH'], HOME: cwd, REPORTING_CLIENT_SECRET: SECRET_TEXT }
    const child = spawn(process.execPath, [LAUNCHER, 'health'], { cwd, env, stdio: ['ignore', 'pipe', 'ignore'] })
    child.stdout.destroy()
    expect(await once(child, 'exit')).toEqual([1, null])
  })
})

describe('catching signals', () => {
  it('leaves the channel to the parent open, because a process of tests has nothing else that it waits for', async () => {
    const module = pathToFileURL(path.join(ROOT, 'src/cli/stop.ts')).href
    const clock = '{ monotonicMs: () => 0 }'
    const program = `import { catchSignals } from '${module}'
      process.once('message', () => process.exit(7))
      catchSignals({ clock: ${clock}, say: () => {}, quit: () => {} })`
    const args = ['--input-type=module', '--eval', program]
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
    child.send('end')
    expect(await once(child, 'exit')).toEqual([7, null])
  })
})

describe('the launcher', () => {
  it('ends with the shell that npm has started it in, because npm passes a signal only to that shell', {
    tags: 'long',
  }, async () => {
    await using world = await aWorld()
    const env = { ...process.env, REPORTING_CLIENT_SECRET: SECRET_TEXT, TIDEMARK_CONSOLE_PORT: '0' }
    const config = path.join(world.folder, 'tidemark.yaml')
    const npm = spawn('npm', ['run', 'tidemark', '--', 'worker', '--config', config], { cwd: ROOT, env, stdio: 'pipe' })
    let said = ''
    npm.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()))
    await until(() => said.includes('"pid":'), 'the worker writes its log')
    const pid = Number(/"pid":(\d+)/.exec(said)?.[1])
    npm.kill('SIGTERM')
    await until(() => !isAlive(pid), 'the worker is gone')
  })

  it('is followed by the program when it is killed', async () => {
    await using world = await aWorld()
    const old = '/usr/bin/node'
    if (!existsSync(old)) return
    const launched = world.start(['sandbox', '--json', '--port', '0'], { node: old })
    await until(() => launched.said().includes('url'), 'the sandbox is ready')
    const { url } = JSON.parse(launched.said()) as { url: string }
    launched.kill('SIGKILL')
    await until(() => !isAlive(launched.pid), 'the launcher is gone')
    await until(
      () =>
        fetch(url).then(
          () => false,
          () => true,
        ),
      'the sandbox is gone',
    )
  })
})
