/** `tidemark demo` and `tidemark sandbox` as processes. */
import { execFileSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { aPlace, until } from './support.ts'

/** Processes whose working directory is this folder. */
const livingIn = (folder: string): string =>
  execFileSync('sh', ['-c', 'ls -l /proc/[0-9]*/cwd 2>/dev/null || true'], { encoding: 'utf8' })
    .split('\n')
    .filter((line) => line.endsWith(folder))
    .join('\n')

describe('tidemark demo', () => {
  it('shows a worker that reads everything and then what changed, three queries, and leaves nothing running', {
    tags: 'long',
    timeout: 180_000,
  }, async () => {
    await using place = await aPlace({ env: { REPORTING_BASE_URL: 'https://production.example.com' } })
    const { code, stdout, stderr } = await place.start(['demo']).ended
    expect(code).toBe(0)
    expect(stderr).not.toMatch(/warn|error/i)
    expect(stdout, 'what was read at first').toMatch(/^events +\d+ +\d{3} +300 +\d+ +\d+$/m)
    expect(stdout).toMatch(/^events__meeting_rooms +\d/m)
    expect(stdout).toMatch(/^events +\d+ +\d+ +1 +4 +1$/m)
    expect(stdout.match(/\(\d+ rows?\)/g)).toHaveLength(3)
    expect(stdout).toMatch(/100\d{3} .* flag /)
    expect(stdout).toMatch(/Its console is at http:\/\/127\.0\.0\.1:\d+, with the token [0-9a-f]{24}/)
    expect(stdout).toContain('data/demo/published.duckdb')
    expect(livingIn(place.folder)).toBe('')

    const next = await place.run('query', '--config', 'data/demo/tidemark.yaml', 'SELECT count(*) AS n FROM events')
    expect(next.stdout).toContain('301')
    const check = await place.run('check', '--config', 'data/demo/tidemark.yaml')
    expect(check.stdout).toMatch(/^published copy +ok /m)
  })

  it('takes its service with it when it is killed', { tags: 'long' }, async () => {
    await using place = await aPlace()
    const running = place.start(['demo'])
    await until(() => running.said().includes('It runs at'), 'the service runs')
    expect(livingIn(place.folder)).not.toBe('')
    running.kill('SIGKILL')
    await until(() => livingIn(place.folder) === '', 'nothing runs')
  })

  it('stops on request and takes its service with it', { tags: 'long' }, async () => {
    await using place = await aPlace()
    const running = place.start(['demo'])
    await until(() => running.said().includes('It runs at'), 'the service runs')
    running.kill('SIGINT')
    expect(await running.ended).toMatchObject({ code: 130 })
    await until(() => livingIn(place.folder) === '', 'nothing runs')
  })
})

describe('tidemark sandbox', () => {
  it('says in one line of JSON where it is, and ends well when it is stopped', async () => {
    await using place = await aPlace()
    const running = place.start([
      'sandbox',
      '--json',
      '--port',
      '0',
      '--rows',
      '20',
      '--fault',
      'slow:1',
      '--seed',
      '7',
    ])
    await until(() => running.said().includes('\n'), 'it is ready')
    const { url, control } = JSON.parse(running.said()) as { url: string; control: string }
    expect(await (await fetch(`${control}/state`)).json()).toMatchObject({
      faults: ['slow:1'],
      rows: { events: { all: 20 } },
    })
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
    running.kill('SIGINT')
    expect(await running.ended).toMatchObject({ code: 0, stderr: '' })
  })

  it('tells people what to type next', async () => {
    await using place = await aPlace()
    const running = place.start(['sandbox', '--port', '0'])
    await until(() => running.said().includes('Ctrl-C ends it.'), 'it is ready')
    expect(running.said()).toContain('REPORTING_CLIENT_SECRET=demo-secret npx tidemark sync')
    running.kill('SIGTERM')
    await running.ended
  })

  it('refuses a fault that does not exist', async () => {
    await using place = await aPlace()
    const { code, stderr } = await place.run('sandbox', '--fault', 'sloow:200')
    expect(code).toBe(2)
    expect(stderr).toMatch(/unknown fault 'sloow:200'[^]*USAGE_INVALID[^]*slow/)
  })
})
