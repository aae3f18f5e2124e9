/**
 * The deployment as docker-compose.yml has it: the image is built, Redis, the worker and two pullers come up, one of
 * them owns the warehouse, and all of them end well within the grace period. The service is none that answers: this is
 * about containers, not about pulling.
 */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { ROOT } from '../rules/source.ts'
import { programOnPath } from '../support/programsOnPath.ts'

const run = promisify(execFile)
const PROJECT = 'tidemark-test'
const SETTINGS = {
  REPORTING_BASE_URL: 'https://reports.invalid',
  REPORTING_CLIENT_ID: 'acme',
  REPORTING_CLIENT_SECRET: 'secret',
}
const [program, ...first] = programOnPath('docker-compose') === undefined ? ['docker', 'compose'] : ['docker-compose']

async function compose(...args: string[]): Promise<string> {
  const options = { cwd: ROOT, env: { ...process.env, ...SETTINGS }, maxBuffer: 64 * 2 ** 20 }
  const { stdout } = await run(program ?? '', [...first, '--project-name', PROJECT, ...args], options)
  return stdout
}

const docker = async (...args: string[]): Promise<string> => (await run('docker', args, { cwd: ROOT })).stdout

beforeAll(async () => {
  await run('docker', ['build', '--network=host', '-t', 'tidemark', '.'], { cwd: ROOT, maxBuffer: 64 * 2 ** 20 })
}, 900_000)
afterAll(() => compose('down', '--volumes', '--timeout', '5'))

it('comes up with an owner and pullers, and ends well within its grace period', async () => {
  await compose('up', '-d', '--no-build', '--scale', 'puller=2')
  const says = async (service: string, text: string) => {
    while (!(await compose('logs', '--no-color', service)).includes(text)) await systemClock.sleep(500)
  }
  await says('worker', 'this process owns the warehouse')
  await says('puller', 'roles')
  const ids = (await compose('ps', '-q')).trim().split('\n')
  expect(ids).toHaveLength(4)
  const users = await Promise.all(ids.map((id) => docker('inspect', '--format', '{{.Config.User}}', id)))
  expect(users.filter((user) => user.trim() === 'node')).toHaveLength(3)
  await compose('stop')
  const codes = await Promise.all(ids.map((id) => docker('inspect', '--format', '{{.State.ExitCode}}', id)))
  expect(codes.map((code) => code.trim())).toEqual(['0', '0', '0', '0'])
})
