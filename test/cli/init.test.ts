/** `tidemark init`: what it asks for, tries, writes, and never overwrites unasked; also on a real pseudo-terminal. */
import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { once } from 'node:events'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/server.ts'
import { SCOPES } from '../../src/sandbox/reports/index.ts'
import { aPlace, LAUNCHER, type Place, SECRET_TEXT, until } from './support.ts'

interface Spot extends Place {
  readonly sandbox: Sandbox
  read(name: string): Promise<string>
  /** `init` with everything it needs. */
  init(...args: string[]): ReturnType<Place['run']>
}

async function aSpot(options: SandboxOptions & { secret?: string } = {}): Promise<Spot> {
  const { secret = SECRET_TEXT, ...more } = options
  const client = { clientId: 'acme', clientSecret: SECRET_TEXT, scopes: SCOPES }
  const sandbox = await startSandbox({ rows: 20, ...more, clients: [client] })
  const place = await aPlace()
  return {
    ...place,
    sandbox,
    read: (name) => readFile(path.join(place.folder, name), 'utf8'),
    init: (...args) =>
      place.runWith(
        { REPORTING_CLIENT_SECRET: secret },
        'init',
        '--base-url',
        sandbox.url,
        '--client-id',
        'acme',
        ...args,
      ),
    [Symbol.asyncDispose]: async () => {
      await sandbox.close()
      await place[Symbol.asyncDispose]()
    },
  }
}

const modeOf = async (file: string) => ((await stat(file)).mode & 0o777).toString(8)

describe('tidemark init', () => {
  it('tries the settings, writes them, and the next command works', { tags: 'long' }, async () => {
    await using spot = await aSpot()
    const { code, stdout, stderr } = await spot.init('--currencies', 'EUR')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/^token +ok /m)
    expect(stdout).toContain('npx tidemark sync events')
    expect(stdout).not.toContain('hunter2')
    expect(await modeOf(path.join(spot.folder, '.env'))).toBe('600')
    expect((await spot.read('.gitignore')).split('\n')).toContain('.env')
    expect(await spot.read('tidemark.yaml')).not.toContain('hunter2')
    expect(await spot.run('sync', 'events', 'budgets', '--quiet')).toMatchObject({ code: 0 })
  })

  it('without a terminal and without the options ends with 2, says which, and writes nothing', async () => {
    await using place = await aPlace()
    const { code, stderr } = await place.run('init')
    expect(code).toBe(2)
    for (const way of ['--base-url', '--client-id', 'REPORTING_CLIENT_SECRET']) expect(stderr).toContain(way)
    expect(existsSync(path.join(place.folder, 'tidemark.yaml'))).toBe(false)
  })

  it('refuses an address that is none', async () => {
    await using place = await aPlace({ env: { REPORTING_CLIENT_SECRET: 'x' } })
    const { code, stderr } = await place.run('init', '--base-url', 'http://far.example.com', '--client-id', 'a')
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('must begin with https://') })
  })

  it('writes nothing when the service refuses the credentials', async () => {
    await using spot = await aSpot({ secret: 'another' })
    const { code, stdout } = await spot.init()
    expect(code).toBe(1)
    expect(stdout).toContain('Nothing was written')
    expect(existsSync(path.join(spot.folder, '.env'))).toBe(false)
    expect(await spot.init('--no-try')).toMatchObject({ code: 0 })
    expect(existsSync(path.join(spot.folder, '.env'))).toBe(true)
  })

  it('switches off what the client may not read, and says so', async () => {
    await using spot = await aSpot({ faults: ['403@merf_submissions'] })
    const { code, stdout } = await spot.init()
    expect(code).toBe(0)
    expect(stdout).toContain('switched off, since this client may not read them: merf_submissions')
    expect(await spot.read('tidemark.yaml')).toMatch(/merf_submissions: \{ enabled: false \} +# REPORT_FORBIDDEN/)
    expect((await spot.run('status')).code).toBe(0)
  })

  it('replaces nothing unasked, keeps the other lines of .env, and does so with --force', async () => {
    await using spot = await aSpot()
    const env = "TIDEMARK_EVERY=1m\nREPORTING_CLIENT_SECRET='old'\n# mine\n"
    await writeFile(path.join(spot.folder, '.env'), env, { mode: 0o644 })
    await writeFile(path.join(spot.folder, 'tidemark.yaml'), '# mine\n')
    const { code, stderr } = await spot.init()
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringContaining('tidemark.yaml, and REPORTING_CLIENT_SECRET in .env'),
    })
    expect([await spot.read('.env'), await spot.read('tidemark.yaml')]).toEqual([env, '# mine\n'])
    expect(await spot.init('--force')).toMatchObject({ code: 0 })
    const written = await spot.read('.env')
    expect(written).toContain('TIDEMARK_EVERY=1m\n# mine\n')
    expect(written).not.toContain('old')
    expect(await modeOf(path.join(spot.folder, '.env'))).toBe('600')
    expect((await spot.run('check')).code).toBe(0)
  })

  it('names the file of a secret instead of copying it', async () => {
    await using spot = await aSpot()
    await mkdir(path.join(spot.folder, 'secrets'))
    await writeFile(path.join(spot.folder, 'secrets/client'), SECRET_TEXT)
    const env = { REPORTING_CLIENT_SECRET_FILE: 'secrets/client' }
    const args = ['init', '--base-url', spot.sandbox.url, '--client-id', 'acme']
    expect(await spot.runWith(env, ...args)).toMatchObject({ code: 0 })
    expect(await spot.read('.env')).toBe(`REPORTING_CLIENT_SECRET_FILE='${spot.folder}/secrets/client'\n`)
    expect((await spot.run('check')).code).toBe(0)
  })
})

/**
 * Arguments for `script`, which gives a program a terminal of its own: util-linux's, else that of the BSDs and macOS.
 */
function onTerminal(...command: string[]): string[] {
  if (process.platform !== 'linux') return ['-q', '/dev/null', ...command]
  const { stdout } = spawnSync('script', ['--version'], { encoding: 'utf8' }) as { stdout: string | null }
  expect(stdout ?? 'no such program', 'install the program "script" (util-linux; bsdutils in Debian)').toContain(
    'util-linux',
  )
  return ['-qec', command.map((word) => `"${word}"`).join(' '), '/dev/null']
}

/** Types an answer once the question stands there. */
async function typed(child: ChildProcessWithoutNullStreams, said: () => string, [question, answer]: [string, string]) {
  await until(() => said().includes(question), `it asks: ${question}`)
  child.stdin.write(`${answer}\r`)
}

describe('tidemark init on a terminal', () => {
  it('asks for each setting, hides the secret, asks again for a wrong one, and asks before it replaces', {
    tags: 'long',
  }, async () => {
    await using spot = await aSpot()
    await writeFile(path.join(spot.folder, 'tidemark.yaml'), '# mine\n')
    const child = spawn('script', onTerminal(process.execPath, LAUNCHER, 'init'), {
      cwd: spot.folder,
      env: { PATH: process.env['PATH'], HOME: spot.folder, TERM: 'xterm', COLUMNS: '120' },
    })
    let text = ''
    child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()))
    const said = () => text
    const ended = once(child, 'exit')
    await typed(child, said, ['Replace tidemark.yaml', 'y'])
    await typed(child, said, ['Address of the reporting service', spot.sandbox.url])
    await typed(child, said, ['Client identifier', 'acme'])
    await typed(child, said, ['Client secret', 'wrong'])
    await typed(child, said, ['Currencies', 'EUR'])
    await typed(child, said, ['Enter another client secret?', 'y'])
    const before = text.length
    await typed(child, () => text.slice(before), ['Client secret', SECRET_TEXT])
    const [code] = (await ended) as [number]
    expect({ code, text }).toEqual({ code: 0, text: expect.stringContaining('wrote tidemark.yaml and .env') })
    expect(text).not.toContain('hunter2')
    expect((await spot.run('check')).code).toBe(0)
  })
})
