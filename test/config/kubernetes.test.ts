/** The manifests of ops/kubernetes name only what the program has: settings, variables, roles and addresses. */
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { expect, it } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { loadConfig } from '../../src/config/config.ts'
import * as environment from '../../src/config/environment.ts'
import { aFolder } from './folder.ts'

const FOLDER = path.join(import.meta.dirname, '../../ops/kubernetes')
const read = (name: string): Promise<string> => readFile(path.join(FOLDER, name), 'utf8')

interface Probe {
  readonly httpGet: { readonly path: string }
}

interface Deployment {
  readonly spec: {
    readonly replicas: number
    readonly selector: { readonly matchLabels: object }
    readonly template: {
      readonly metadata: { readonly labels: object }
      readonly spec: {
        readonly terminationGracePeriodSeconds: number
        readonly containers: readonly {
          readonly args: readonly string[]
          readonly env: readonly { readonly name: string; readonly value: string }[]
          readonly readinessProbe: Probe
          readonly livenessProbe: Probe
        }[]
      }
    }
  }
}

const documents = async (name: string): Promise<unknown[]> =>
  parseAllDocuments(await read(name)).map((document) => document.toJS() as unknown)

it('the configuration of the workers is accepted, with the variables of the Secrets', async () => {
  await using folder = await aFolder({ 'tidemark.yaml': await read('settings.yaml') })
  const env = {
    REPORTING_CLIENT_SECRET: 'x',
    TIDEMARK_QUEUE_URL: 'rediss://tidemark:secret@redis.databases:6380',
    AWS_ACCESS_KEY_ID: 'id',
    AWS_SECRET_ACCESS_KEY: 'key',
  }
  await expect(loadConfig({ env, cwd: folder.path })).resolves.toMatchObject({ queue: env.TIDEMARK_QUEUE_URL })
})

it('the deployment uses variables and addresses that exist, and leaves a worker the time to stop', async () => {
  const [deployment] = (await documents('worker.yaml')) as [Deployment]
  const { template, selector, replicas } = deployment.spec
  const [worker] = template.spec.containers
  const known = [
    ...environment.variables.map(({ name }) => name),
    environment.CLIENT_SECRET,
    'TIDEMARK_CONFIG',
    'TMPDIR',
  ]
  const names = worker?.env.map(({ name }) => name.replace(/_FILE$/, '')) ?? []
  expect(names.filter((name) => !known.includes(name))).toEqual([])
  const console = await readFile(path.join(FOLDER, '../../src/console/console.ts'), 'utf8')
  for (const probe of [worker?.readinessProbe, worker?.livenessProbe])
    expect(console).toContain(`app.get('${probe?.httpGet.path}'`)
  expect(worker?.args).toEqual(['worker'])
  expect(template.spec.terminationGracePeriodSeconds).toBeGreaterThan(30)
  expect(template.metadata.labels).toMatchObject(selector.matchLabels)
  expect(replicas).toBeGreaterThan(1)
})

it('the disruption budget and the network policy select the workers, and the kustomization names every file', async () => {
  const [deployment] = (await documents('worker.yaml')) as [Deployment]
  const labels = deployment.spec.selector.matchLabels
  const [budget] = await documents('disruption.yaml')
  expect(budget).toMatchObject({ spec: { minAvailable: 1, selector: { matchLabels: labels } } })
  const [policy] = await documents('network.yaml')
  expect(policy).toMatchObject({ spec: { podSelector: { matchLabels: labels } } })
  const { resources } = parse(await read('kustomization.yaml')) as { resources: string[] }
  expect(resources.toSorted()).toEqual(['disruption.yaml', 'namespace.yaml', 'network.yaml', 'worker.yaml'])
})
