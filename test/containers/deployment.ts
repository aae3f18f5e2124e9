/**
 * A deployment as an operator makes it: docker-compose.yml, a tidemark.yaml and the secrets of ops/secrets.sh in a folder.
 * Only the reporting service is the test's own (service.yml).
 */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { ROOT } from '../rules/source.ts'
import { freePort, programOnPath } from '../support/programsOnPath.ts'

const run = promisify(execFile)
const OUTPUT = { maxBuffer: 64 * 2 ** 20 }
const COMPOSE = programOnPath('docker-compose') === undefined ? ['docker', 'compose'] : ['docker-compose']
const CERTIFICATE = '-x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=reporting'

/** Small pages, so that a backfill has many windows. */
const SETTINGS = `service: { base_url: https://reporting:7443, client_id: acme }
defaults: { every: 3s, page_size: 10, settle: 1s, reconcile_every: never }
limits: { query_memory: 256MB }
reports:
${['budgets', 'automated_bookings', 'office_reservations', 'merf_submissions', 'enquiry_audit_entries', 'audit_entries']
  .map((report) => `  ${report}: { enabled: false }\n`)
  .join('')}`

/** The token of the demo's console, as docker-compose.yml names it. */
const DEMO_TOKEN = 'tidemark-demo-token'

export interface ContainerFacts {
  readonly Id: string
  readonly RestartCount: number
  readonly State: {
    readonly Pid: number
    readonly Running: boolean
    readonly ExitCode: number
    readonly OOMKilled: boolean
    readonly Health?: { readonly Status: string }
  }
  readonly Config: { readonly User: string; readonly Env: readonly string[] }
  readonly HostConfig: {
    readonly ReadonlyRootfs: boolean
    readonly Privileged: boolean
    readonly CapDrop: readonly string[] | null
    readonly SecurityOpt: readonly string[] | null
    readonly Memory: number
  }
}

export type Deployment = Awaited<ReturnType<typeof aDeployment>>

/** Returns the standard output of a docker command. Rejects if the command fails. */
export async function docker(...args: readonly string[]): Promise<string> {
  return (await run('docker', [...args], { cwd: ROOT, ...OUTPUT })).stdout
}

/** Builds an image as `docker compose build` would. On the host's network, because not every engine has another. */
export async function buildImage(target: 'tidemark' | 'lake' = 'tidemark'): Promise<void> {
  const image = target === 'lake' ? 'tidemark-lake' : target
  await docker('build', '--network=host', '--build-arg', 'TIDEMARK_NODE_IMAGE', '--target', target, '-t', image, '.')
}

/** Makes the folder of a deployment and starts its containers. Disposing removes the containers, volumes and folder. */
export async function aDeployment() {
  const folder = await mkdtemp(path.join(tmpdir(), 'tidemark-deployment-'))
  const secret = randomBytes(24).toString('hex')
  await prepare(folder, secret)
  const [port, demoPort, lakePort] = [await freePort(), await freePort(), await freePort()]
  const ports = {
    TIDEMARK_CONSOLE_PORT: String(port),
    TIDEMARK_DEMO_PORT: String(demoPort),
    TIDEMARK_LAKE_PORT: String(lakePort),
  }
  const project = `tidemark-test-${port}`
  const variables = { ...process.env, TEST_CLIENT_SECRET: secret, ...ports }
  const composeWith = async (more: Record<string, string>, args: readonly string[]): Promise<string> => {
    const [program = '', ...first] = COMPOSE
    const files = ['--project-name', project, '-f', 'docker-compose.yml', '-f', 'service.yml']
    const profiles = ['--profile', 'demo', '--profile', 'lake']
    const env = { ...variables, ...more }
    return (await run(program, [...first, ...files, ...profiles, ...args], { cwd: folder, env, ...OUTPUT })).stdout
  }
  const compose = (...args: readonly string[]): Promise<string> => composeWith({}, args)
  const idsOf = async (service: string) => (await compose('ps', '-q', service)).trim().split('\n')
  const down = async () => {
    await compose('down', '--volumes', '--timeout', '5')
    await rm(folder, { recursive: true, force: true })
  }
  const dotEnv = await readFile(path.join(folder, 'secrets/lake.env'), 'utf8')
  const valueAfter = (start: string) => new RegExp(`${start}(\\w+)`).exec(dotEnv)?.[1] ?? ''
  const token = valueAfter('TOKEN=')
  const password = valueAfter('redis://:')
  return {
    folder,
    compose,
    idsOf,
    secrets: { secret, token, password, catalogue: valueAfter('password='), key: valueAfter('SECRET_ACCESS_KEY=') },
    url: `http://127.0.0.1:${port}`,
    /** Returns the answer of the console of the lake's reader. */
    askLake: (place: string, body?: object) => askConsole(`http://127.0.0.1:${lakePort}${place}`, token, body),
    /** Returns the answer of the console. A body makes the request a POST. */
    ask: (place: string, body?: object) => askConsole(`http://127.0.0.1:${port}${place}`, token, body),
    /** Returns the rows of a query on the published copy, or on the lake. */
    query: async (sql: string, service = 'worker') => {
      const [worker = ''] = await idsOf(service)
      const text = await docker('exec', worker, 'node', '/app/bin/tidemark.js', 'query', '--format', 'json', sql)
      return JSON.parse(text) as readonly Record<string, unknown>[]
    },
    /** Starts the demo, with this memory limit for each container. Returns a function that reads its overview. */
    startDemo: async (memory: string) => {
      await composeWith({ TIDEMARK_MEMORY: memory }, ['up', '-d', '--no-build', 'demo'])
      return () => askConsole(`http://127.0.0.1:${demoPort}/api/overview`, DEMO_TOKEN)
    },
    /** Sends a call to the sandbox's control endpoint, which only answers in its own container. */
    control: async (call: string, body?: object) => {
      const [id = ''] = await idsOf('reporting')
      const asked = JSON.stringify(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) })
      const script = `fetch('http://127.0.0.1:7718/_control/${call}', ${asked}).then((got) => got.text()).then(console.log)`
      return JSON.parse(await docker('exec', id, 'node', '-e', script)) as Record<string, unknown>
    },
    [Symbol.asyncDispose]: down,
  }
}

async function prepare(folder: string, secret: string): Promise<void> {
  const service = path.join(folder, 'service')
  await mkdir(service)
  await copyFile(path.join(ROOT, 'docker-compose.yml'), path.join(folder, 'docker-compose.yml'))
  await copyFile(path.join(ROOT, 'test/containers/service.yml'), path.join(folder, 'service.yml'))
  await copyFile(path.join(ROOT, 'test/containers/service.ts'), path.join(service, 'service.ts'))
  await writeFile(path.join(folder, 'tidemark.yaml'), SETTINGS)
  const pem = ['-keyout', 'key.pem', '-out', 'cert.pem', '-addext', 'subjectAltName=DNS:reporting']
  await run('openssl', ['req', ...CERTIFICATE.split(' '), ...pem], { cwd: service })
  await run('chmod', ['-R', 'a+rX', 'service', 'tidemark.yaml'], { cwd: folder })
  await run('sh', ['-c', `printf %s "$SECRET" | sh "$SCRIPT"`], {
    cwd: folder,
    env: { ...process.env, SECRET: secret, SCRIPT: path.join(ROOT, 'ops/secrets.sh') },
  })
}

async function askConsole(url: string, token: string, body?: object) {
  const headers = { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) }
  const response = await fetch(url, { headers, ...(body && { method: 'POST', body: JSON.stringify(body) }) })
  return { status: response.status, ...((await response.json()) as Record<string, unknown>) }
}

export async function factsOf(id: string): Promise<ContainerFacts> {
  const [facts] = JSON.parse(await docker('inspect', id)) as readonly ContainerFacts[]
  if (facts === undefined) throw new TypeError(`no container ${id}`)
  return facts
}

/** Fails if a container has rights, or can write elsewhere than to its volumes and its tmpfs. */
export async function expectConfined(id: string): Promise<void> {
  const { Config, HostConfig } = await factsOf(id)
  expect(Config.User).not.toMatch(/^(root|0|)(:|$)/)
  expect(HostConfig).toMatchObject({
    ReadonlyRootfs: true,
    Privileged: false,
    CapDrop: ['ALL'],
    SecurityOpt: ['no-new-privileges:true'],
  })
  expect(HostConfig.Memory).toBeGreaterThan(0)
  const status = await docker('exec', id, 'cat', '/proc/1/status')
  expect(status).toMatch(/^NoNewPrivs:\s+1$/m)
  expect(status).toMatch(/^CapEff:\s+0+$/m)
  expect(status).not.toMatch(/^Uid:.*\b0\b/m)
  const attempts = ['/etc/written', '/app/written', '/usr/local/bin/written'].map((file) => `echo > ${file}`)
  for (const attempt of attempts) await expect(docker('exec', id, 'sh', '-c', attempt)).rejects.toThrow(/exit|Command/)
}

/** Shorter than the time limit of a test, so that the check of a failed test does not slow the tests that follow. */
const WAIT_MS_MAX = 840_000

/** Waits until a check returns true. A check that rejects counts as false, because containers start and end. */
export async function eventually(check: () => Promise<boolean>): Promise<void> {
  const endMs = systemClock.monotonicMs() + WAIT_MS_MAX
  while (!(await check().catch(() => false))) {
    if (systemClock.monotonicMs() > endMs) throw new TypeError(`never true: ${String(check)}`)
    await systemClock.sleep(1_000)
  }
}

export const becomesHealthy = (id: string): Promise<void> =>
  eventually(async () => (await factsOf(id)).State.Health?.Status === 'healthy')

/** Ends a container's process as a crash would. `docker kill` is an order, after which Docker starts nothing again. */
export async function crash(id: string): Promise<void> {
  const { Pid } = (await factsOf(id)).State
  const kill = `process.kill(${Pid}, 'SIGKILL')`
  await docker('run', '--rm', '--pid=host', '--user=root', '--entrypoint=node', 'tidemark', '-e', kill)
}
