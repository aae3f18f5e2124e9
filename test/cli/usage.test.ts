/** Help, versions and wrong usage, as people meet them. */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { programOf } from '../../src/cli/program.ts'
import type { Shell } from '../../src/cli/shell.ts'
import { ROOT } from '../rules/source.ts'
import { aPlace } from './support.ts'

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

describe('the launcher', () => {
  const old = '/usr/bin/node'

  it.skipIf(!existsSync(old))("hands over to the project's own Node, exit code included", async () => {
    await using place = await aPlace()
    expect(await place.start(['--version'], { node: old }).ended).toMatchObject({ code: 0, stderr: '' })
    expect(await place.start(['sync'], { node: old }).ended).toMatchObject({ code: 2 })
  })
})
