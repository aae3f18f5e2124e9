/** The files of the deployment agree with the program: settings that exist, folders that ship, a subset of compose. */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFileSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { loadConfig } from '../../src/config/config.ts'
import * as environment from '../../src/config/environment.ts'
import { aFolder } from '../config/folder.ts'
import { productFiles, ROOT } from './source.ts'

interface Compose {
  readonly name?: string
  readonly version?: string
  readonly services: Readonly<Record<string, ComposeService>>
  readonly volumes: Readonly<Record<string, unknown>>
  readonly networks: Readonly<Record<string, { readonly internal?: boolean }>>
  readonly secrets: Readonly<Record<string, { readonly file: string }>>
}

interface ComposeService {
  readonly image: string
  readonly user: string
  readonly command?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly healthcheck: { readonly test: readonly string[] }
  readonly mem_limit: string
  readonly stop_grace_period: string
  readonly profiles?: readonly string[]
  readonly networks?: readonly string[]
  readonly ports?: readonly string[]
  readonly secrets?: readonly (string | { readonly source: string })[]
  readonly volumes?: readonly string[]
}

interface Manifest {
  readonly spec: {
    readonly template: {
      readonly spec: {
        readonly containers: readonly {
          readonly env: readonly { readonly name: string; readonly value: string }[]
          readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[]
        }[]
      }
    }
  }
}

const textOf = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8')
const composeText = textOf('docker-compose.yml')
const compose = parse(composeText, { merge: true }) as Compose
const services = Object.entries(compose.services).map(([service, each]) => ({ service, ...each }))
const PINNED = /^[a-z/]+:v?\d[\w.-]+@sha256:[0-9a-f]{64}$/

/** The variables of the image of PostgreSQL. */
const POSTGRES = ['POSTGRES_USER', 'POSTGRES_DB', 'POSTGRES_PASSWORD_FILE']

describe('docker-compose.yml', () => {
  it('keeps to what compose 1.29 and 2 both take', () => {
    expect(compose.name).toBeUndefined()
    expect(compose.version).toBeUndefined()
  })

  it.each(services)('confines $service', (service) => {
    expect(service).toMatchObject({
      read_only: true,
      restart: 'unless-stopped',
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
      pids_limit: expect.any(Number) as number,
      logging: { options: { 'max-size': expect.any(String) as string, 'max-file': expect.any(String) as string } },
    })
    expect(service.user).not.toMatch(/^(root|0)(:|$)/)
    expect(service.mem_limit).toMatch(/[0-9][gm]\}?$/)
    expect(service.stop_grace_period).toMatch(/^\d+s$/)
    expect(service.healthcheck.test.length).toBeGreaterThan(1)
  })

  it('publishes ports on this machine only, and no port of Redis, PostgreSQL or the object storage', () => {
    const published = services.flatMap(({ service, ports = [] }) => ports.map((port) => ({ service, port })))
    expect(published.filter(({ port }) => !port.startsWith('127.0.0.1:'))).toEqual([])
    expect(published.map(({ service }) => service)).toEqual(['worker', 'lake', 'demo-service'])
    for (const service of ['redis', 'postgres', 'storage'])
      expect(compose.services[service]?.networks?.map((name) => compose.networks[name]?.internal)).toEqual([true])
  })

  it('pins each public image by its digest', () => {
    const images = new Set(services.map(({ image }) => image))
    for (const own of ['tidemark', 'tidemark-lake']) images.delete(own)
    const defaults = [...images].map((image) => /^\$\{TIDEMARK_[A-Z]+_IMAGE:-(.+)\}$/.exec(image)?.[1])
    expect(defaults).toEqual(Array(3).fill(expect.stringMatching(PINNED)))
  })

  it.each(services)('passes only variables that exist to $service', ({ environment: given = {} }) => {
    const { CLIENT_SECRET, CONSOLE_TOKEN, variables } = environment
    const names = variables.map(({ name }) => name)
    const known = [CLIENT_SECRET, CONSOLE_TOKEN, 'TIDEMARK_CONFIG', 'TMPDIR', ...POSTGRES, ...names]
    expect(Object.keys(given).filter((name) => !known.includes(name))).toEqual([])
  })

  it('has no secret in a variable, except those of the demo', () => {
    const real = services.filter(({ profiles }) => profiles === undefined || profiles.includes('lake'))
    expect(real.map(({ service }) => service)).toEqual([
      'redis',
      'worker',
      'puller',
      'postgres',
      'storage',
      'lake-worker',
      'lake',
    ])
    const names = real.flatMap(({ environment: given = {} }) => Object.keys(given))
    expect(names.filter((name) => /SECRET$|TOKEN$|KEY$|QUEUE_URL$|PASSWORD$|WAREHOUSE$/.test(name))).toEqual([])
  })

  it.each(services)(
    'mounts only volumes and secrets that are declared on $service',
    ({ volumes = [], secrets = [] }) => {
      const named = volumes.map((each) => each.split(':')[0] ?? '').filter((name) => !name.startsWith('./'))
      expect(named.filter((each) => !(each in compose.volumes))).toEqual([])
      const used = secrets.map((each) => (typeof each === 'string' ? each : each.source))
      expect(used.filter((each) => !(each in compose.secrets))).toEqual([])
    },
  )

  it('starts a Redis that keeps its data and evicts nothing', () => {
    expect(compose.services['redis']?.command?.join(' ')).toContain('--appendonly yes --maxmemory-policy noeviction')
  })

  it('takes only variables that the guide explains', () => {
    const taken = [...composeText.matchAll(/\$\{([A-Z_]+)/g), ...textOf('Dockerfile').matchAll(/\$\{([A-Z_]+)/g)]
    const guide = textOf('docs/DEPLOYING.md')
    expect(taken.map(([, name = '']) => name).filter((name) => !guide.includes(`\`${name}\``))).toEqual([])
  })
})

const writeSecrets = (folder: string, secret: string) =>
  execFileSync('sh', [path.join(ROOT, 'ops/secrets.sh')], {
    cwd: folder,
    input: secret,
    env: { ...process.env, TIDEMARK_GROUP: String(process.getgid?.()) },
    stdio: ['pipe', 'pipe', 'ignore'],
  })

describe('ops/secrets.sh', () => {
  it('writes the files that compose mounts, which only owner and group can read', async () => {
    await using folder = await aFolder({})
    writeSecrets(folder.path, 'the-client-secret')
    const files = Object.values(compose.secrets).map(({ file }) => path.join(folder.path, file))
    expect(files.map((file) => (statSync(file).mode & 0o777).toString(8))).toEqual(files.map(() => '640'))
    expect(() => writeSecrets(folder.path, 'another')).toThrow()
    expect(readFileSync(path.join(folder.path, 'secrets/reporting'), 'utf8')).toBe('the-client-secret\n')
  })

  it('gives Tidemark the password whose hash it gives to Redis', async () => {
    await using folder = await aFolder({ 'tidemark.yaml': 'service: { base_url: https://a.example, client_id: acme }' })
    writeSecrets(folder.path, 'the-client-secret')
    const secrets = path.join(folder.path, 'secrets')
    copyFileSync(path.join(secrets, 'tidemark.env'), path.join(folder.path, '.env'))
    const env = { REPORTING_CLIENT_SECRET_FILE: path.join(secrets, 'reporting') }
    const { queue, console } = await loadConfig({ env, cwd: folder.path })
    const { password, host } = new URL(queue)
    const hash = createHash('sha256').update(password).digest('hex')
    expect(readFileSync(path.join(secrets, 'redis.acl'), 'utf8')).toContain(`user default on #${hash} `)
    expect([host, password.length, console.token?.reveal().length]).toEqual(['redis:6379', 64, 64])
  })
})

/** The variables of the image "lake", in the order of the Dockerfile. */
const imageVariables = Object.fromEntries(
  [...textOf('Dockerfile').matchAll(/^(?:ENV|   ) ([A-Z_]+)=(\S*)/gm)].map(([, name = '', value = '']) => [
    name,
    value,
  ]),
)

describe('the image for a lake', () => {
  it('takes the password and the keys that PostgreSQL and the storage have from ops/secrets.sh', async () => {
    await using folder = await aFolder({ 'tidemark.yaml': 'service: { base_url: https://a.example, client_id: acme }' })
    writeSecrets(folder.path, 'the-client-secret')
    const contents = (name: string) => readFileSync(path.join(folder.path, 'secrets', name), 'utf8')
    copyFileSync(path.join(folder.path, 'secrets/lake.env'), path.join(folder.path, '.env'))
    const env = {
      ...imageVariables,
      ...compose.services['lake-worker']?.environment,
      REPORTING_CLIENT_SECRET_FILE: path.join(folder.path, 'secrets/reporting'),
    }
    const { lake, queue } = await loadConfig({ file: 'tidemark.yaml', env, cwd: folder.path })
    expect(lake?.at).toBe(`host=postgres dbname=lake user=tidemark password=${contents('postgres')}`)
    const [access, secret] = lake?.storage?.keys.map((key) => key.reveal()) ?? []
    expect(contents('storage.env')).toBe(`export ROOT_ACCESS_KEY=${access} ROOT_SECRET_KEY=${secret}\n`)
    expect(new URL(queue)).toMatchObject({ host: 'redis:6379', pathname: '/1' })
  })

  it('takes the lake of the manifests for Kubernetes, and their file leaves room for local files', async () => {
    const [deployment] = parseAllDocuments(textOf('ops/kubernetes/worker.yaml')).map((each) => each.toJS() as Manifest)
    const [container] = deployment?.spec.template.spec.containers ?? []
    expect(container?.volumeMounts.find(({ name }) => name === 'configuration')).toMatchObject({
      mountPath: '/etc/tidemark/tidemark.yaml',
      subPath: 'tidemark.yaml',
    })
    const set = container?.env.map(({ name, value }) => [name, value] as const) ?? []
    const secrets = { REPORTING_CLIENT_SECRET: 'x', AWS_ACCESS_KEY_ID: 'x', AWS_SECRET_ACCESS_KEY: 'x' }
    const env = { ...imageVariables, ...Object.fromEntries(set), REPORTING_CLIENT_SECRET_FILE: '', ...secrets }
    const { lake } = await loadConfig({ file: 'ops/kubernetes/settings.yaml', env, cwd: ROOT })
    expect(lake?.at).toBe('host=postgres.databases dbname=lake user=tidemark')
  })
})

const memorySetIn = (file: string): readonly string[] =>
  [...textOf(file).matchAll(/(MALLOC_[A-Z_]+)(?:=|: ')([0-9]+)/g)].map(([, name, value]) => `${name}=${value}`)

describe('Dockerfile', () => {
  it('sets for memory what the launcher sets, and what the bench and the guide say', () => {
    expect(memorySetIn('Dockerfile')).toHaveLength(2)
    for (const file of ['bin/tidemark.js', 'bench/programs/start.ts', 'docs/OPERATING.md'])
      expect({ file, set: memorySetIn(file) }).toEqual({ file, set: memorySetIn('Dockerfile') })
  })

  const lines = textOf('Dockerfile').split('\n')

  it('takes every folder that ships', { tags: 'long' }, () => {
    const folders = new Set(productFiles().map(({ name }) => name.split('/')[0] ?? ''))
    expect([...folders].filter((folder) => !lines.includes(`COPY ${folder} ${folder}`))).toEqual([])
  })

  it('lets into the build what it copies, and nothing else', () => {
    const copied = lines
      .filter((line) => line.startsWith('COPY ') && !line.includes('--from'))
      .flatMap((line) => line.split(' ').slice(1, -1))
    const allowed = textOf('.dockerignore')
      .split('\n')
      .flatMap((line) => (line.startsWith('!') ? [line.slice(1)] : []))
    expect(allowed.toSorted()).toEqual([...new Set(copied)].toSorted())
  })

  it('runs as a user without rights', () => {
    expect(lines).toContain('USER node')
  })

  it('is built from the Node that the project pins, pinned by the digest of its image', () => {
    const image = lines.find((line) => line.startsWith('ARG '))?.replace('ARG TIDEMARK_NODE_IMAGE=', '')
    expect(image).toMatch(PINNED)
    const { optionalDependencies } = JSON.parse(textOf('package.json')) as { optionalDependencies: object }
    expect(composeText).toContain(`\${TIDEMARK_NODE_IMAGE:-${image}}`)
    for (const version of Object.values(optionalDependencies)) expect(image).toContain(`node:${version}-`)
    const from = lines.filter((line) => line.startsWith('FROM '))
    expect(from).toEqual([
      'FROM ${TIDEMARK_NODE_IMAGE} AS packages',
      'FROM ${TIDEMARK_NODE_IMAGE} AS tidemark',
      'FROM packages AS extensions',
      'FROM tidemark AS lake',
    ])
  })
})
