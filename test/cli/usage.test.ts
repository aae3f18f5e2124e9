/** Help, versions and wrong usage, as people meet them. */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { programOf } from '../../src/cli/program.ts'
import { withWholeHints } from '../../src/cli/hints.ts'
import type { Output, Shell } from '../../src/cli/shell.ts'
import { ROOT } from '../rules/source.ts'
import { aPlace, aWorld } from './support.ts'

const { commands } = programOf({} as Shell, () => undefined)
const COMMANDS = commands.map((command) => command.name())

describe('tidemark --help', () => {
  it('lists the commands, and is what a bare tidemark prints', async () => {
    await using place = await aPlace()
    const { code, stdout, stderr } = await place.run('--help')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    for (const command of COMMANDS) expect(stdout).toMatch(new RegExp(`^ {2}${command} `, 'm'))
    expect((await place.run()).stdout).toBe(stdout)
  })

  it.each(COMMANDS)('has an example for %s, and fits a terminal of 120 columns', async (command) => {
    await using place = await aPlace()
    const { code, stdout } = await place.run(command, '--help')
    expect(code).toBe(0)
    expect(stdout).toMatch(new RegExp(`Examples:\\n[^]*^ {2}\\$ tidemark ${command}`, 'm'))
    // A name and what it means stand in two columns, of which the first one may be long.
    const wide = stdout.split('\n').filter((line) => line.length > 120 && !/^ {2}\S+ {2,}/.test(line))
    expect(wide).toEqual([])
  })
})

describe('docs/COMMANDS.md', () => {
  it('names every command, and those that have --json', async () => {
    const page = await readFile(path.join(ROOT, 'docs/COMMANDS.md'), 'utf8')
    expect(
      COMMANDS.filter((name) => !page.includes(`\`npx tidemark ${name}`) && !page.includes(`, \`${name} `)),
    ).toEqual([])
    const [sentence = ''] = /\. `check`,[^.]*`--json`\./.exec(page) ?? []
    const told = [...sentence.matchAll(/`([a-z][a-z-]*)`/g)].map(([, name]) => name)
    const withJson = commands.filter(({ options }) => options.some(({ long }) => long === '--json'))
    expect(new Set(told)).toEqual(new Set(withJson.map((command) => command.name())))
  })
})

describe('tidemark --version', () => {
  it('prints the version of the project', async () => {
    await using place = await aPlace()
    const { version } = JSON.parse(await readFile(path.join(ROOT, 'package.json'), 'utf8')) as { version: string }
    expect(await place.run('--version')).toMatchObject({ code: 0, stdout: `${version}\n` })
  })
})

describe('wrong usage', () => {
  it.each([
    [['snyc'], `unknown command 'snyc' (Did you mean sync?)`],
    [['sync', '--jsn'], `unknown option '--jsn' (Did you mean --json?)`],
    [['query'], `missing required argument 'sql'`],
    [['query', '--format', 'xml', 'SELECT 1'], 'Allowed choices are table, csv, json'],
    [['sandbox', '--rows', 'many'], 'It must be a whole number'],
    [['sandbox', '--port', '65536'], 'It must be a whole number from 0 to 65535'],
    [['help', 'snyc'], `unknown command 'snyc' (Did you mean sync?)`],
    [['status', 'events'], 'too many arguments'],
  ])('%j ends with 2, says what is wrong and where help is', async (args, what) => {
    await using place = await aPlace()
    const { code, stdout, stderr } = await place.run(...args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(what)
    expect(stderr).toMatch(/USAGE_INVALID[^]*--help/)
  })
})

describe('a folder without a configuration', () => {
  it('is told as one, with what to do, before what is missing', async () => {
    await using place = await aPlace()
    const { code, stderr } = await place.run('sync')
    expect(code).toBe(2)
    expect(stderr).toMatch(/^error: there is no tidemark\.yaml in \/\S+\/tidemark-cli-[^]*REPORTING_BASE_URL/)
    expect(stderr).toMatch(/CONFIG_INVALID[^]*what to do +Run "tidemark init"[^]*--config FILE/)
  })
})

describe('a command in a message', () => {
  const REPORTING = { REPORTING_BASE_URL: 'http://127.0.0.1:1', REPORTING_CLIENT_ID: 'x', REPORTING_CLIENT_SECRET: 'x' }

  it('has npx and the configuration file if the user has typed them, so that it can be pasted', async () => {
    await using place = await aPlace({ files: { 'own.yaml': '', "my team's.yaml": '' }, env: REPORTING })
    const npx = { npm_command: 'exec' }
    expect((await place.run('status')).stdout).toBe('nothing was synced yet: run "tidemark sync"\n')
    expect((await place.runWith(npx, 'status')).stdout).toContain('run "npx tidemark sync"\n')
    const { stdout } = await place.runWith(npx, 'status', '--config', 'own.yaml')
    expect(stdout).toContain('run "npx tidemark sync --config own.yaml"\n')
    expect((await place.run('status', "--config=my team's.yaml")).stdout).toContain(
      `run "tidemark sync --config 'my team'\\''s.yaml'"\n`,
    )
    const { stderr } = await place.runWith(npx, 'query', 'SELECT 1', '--config', 'own.yaml')
    expect(stderr).toContain('Run "npx tidemark sync --config own.yaml": it publishes')
  })

  it('has no configuration file if it is a move, which had that of the old warehouse', () => {
    const written: string[] = []
    const output = { write: (text: string) => written.push(text) } as unknown as Output
    const typed = (...args: string[]) => withWholeHints({ out: output, err: output, env: {} } as Shell, args).err
    typed('status', '--config', 'new.yaml').write('"tidemark move" has not filled it; then run "tidemark sync"')
    typed('move', '--config', 'old.yaml').write('Run "tidemark move" again')
    expect(written).toEqual([
      '"tidemark move" has not filled it; then run "tidemark sync --config new.yaml"',
      'Run "tidemark move --config old.yaml" again',
    ])
  })

  it('stays as it is in rows and in JSON', { tags: 'long' }, async () => {
    await using world = await aWorld({ sandbox: { rows: 1 } })
    await world.run('sync', 'events', '--quiet')
    const sql = `SELECT '"tidemark sync"' AS text`
    const csv = await world.runWith({ npm_command: 'exec' }, 'query', sql, '--format', 'csv')
    expect(csv.stdout).toBe('text\n"""tidemark sync"""\n')
    const { stdout } = await world.runWith({ npm_command: 'exec' }, 'sync', 'evnts', '--json')
    expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'REPORT_UNKNOWN' } })
  })

  it('shows the options of wait as they are typed', async () => {
    await using place = await aPlace({ env: REPORTING })
    const cure = expect.stringContaining('--until 2026-01-31T06:00:00Z or --fresh 10m') as unknown
    expect(await place.run('wait', 'events')).toMatchObject({ code: 2, stderr: cure })
  })

  it('names reports_from for a report that resembles none, and not for a typing mistake', async () => {
    await using place = await aPlace({ env: REPORTING })
    expect((await place.run('sync', 'catering_orders')).stderr).toContain('needs its file in reports_from')
    expect((await place.run('sync', 'evnts')).stderr).not.toContain('reports_from')
  })
})

describe('the launcher', () => {
  const old = '/usr/bin/node'

  it.skipIf(!existsSync(old))("hands over to the project's own Node, exit code included", async () => {
    await using place = await aPlace()
    expect(await place.start(['--version'], { node: old }).ended).toMatchObject({ code: 0, stderr: '' })
    expect(await place.start(['sync'], { node: old }).ended).toMatchObject({ code: 2 })
  })
})
