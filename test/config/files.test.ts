/** The files that people start from: the example, the variables' example and the JSON Schema for editors. */
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { parseEnv } from 'node:util'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { reportNames } from '../../schema/index.ts'
import { jsonSchema, loadConfig } from '../../src/config/config.ts'
import * as environment from '../../src/config/environment.ts'
import { SIGNING_SECRET } from '../operate/receiver.ts'
import { aFolder, REQUIRED_ENV } from './folder.ts'

const ROOT = path.join(import.meta.dirname, '../..')
const at = (name: string) => path.join(ROOT, name)

const VARIABLES = [
  ...environment.variables.map(({ name }) => name),
  environment.CLIENT_SECRET,
  environment.HASH_KEY,
  environment.NOTIFY_SECRET,
  environment.CONSOLE_TOKEN,
  environment.CONSOLE_VIEW_TOKEN,
  environment.SERVE_TOKEN,
  environment.REPORTS,
]

describe('tidemark.example.yaml', () => {
  it('loads once the secret is given, and shows every report', async () => {
    await using folder = await aFolder({ 'tidemark.yaml': await readFile(at('tidemark.example.yaml'), 'utf8') })
    const config = await loadConfig({ env: { REPORTING_CLIENT_SECRET: 'x' }, cwd: folder.path })
    const off = Object.values(config.reports).filter(({ enabled }) => !enabled)
    expect(off.map(({ name }) => name)).toEqual(['merf_submissions'])
    expect(
      Object.keys((parse(await readFile(at('tidemark.example.yaml'), 'utf8')) as { reports: object }).reports),
    ).toEqual(reportNames)
  })

  it('names every key and variable', async () => {
    const text = await readFile(at('tidemark.example.yaml'), 'utf8')
    const keys = JSON.stringify(jsonSchema()).matchAll(/"([a-z]+(?:_[a-z]+)+)":\{/g)
    const missing = [...keys].map(([, key]) => key ?? '').filter((key) => !text.includes(key))
    expect(missing).toEqual([])
    const ofSecret = [environment.CLIENT_SECRET, `${environment.CLIENT_SECRET}_FILE`]
    expect([...VARIABLES, ...ofSecret].filter((name) => !text.includes(name))).toEqual([])
  })

  it('loads with every commented setting switched on, and these are the defaults', async () => {
    const text = (await readFile(at('tidemark.example.yaml'), 'utf8')).replaceAll(
      /^( *)# ( *(?:[a-z_]+|limits): ?(?![a-z ]*\. ).*)$/gm,
      '$1$2',
    )
    await using folder = await aFolder({ 'tidemark.yaml': text })
    const env = {
      REPORTING_CLIENT_SECRET: 'x',
      TIDEMARK_NOTIFY_SECRET: SIGNING_SECRET,
      TIDEMARK_NOTIFY_OPS_SECRET: 'https://hooks.slack.com/services/T0/B0/x',
      TIDEMARK_NOTIFY_ONCALL_SECRET: 'integration-key-0123456789',
      TIDEMARK_NOTIFY_PIPELINE_SECRET: SIGNING_SECRET,
    }
    const config = await loadConfig({ env, cwd: folder.path })
    const bare = await loadConfig({ env: REQUIRED_ENV, cwd: '/' })
    expect({ ...config.limits, warehouseThreads: undefined }).toEqual(bare.limits)
    expect(config.limits.warehouseThreads).toBe(2)
    expect(config.service.concurrency).toBe(bare.service.concurrency)
    expect(config.notify).toMatchObject({ lagMs: 3_600_000, failures: 3 })
  })
})

describe('.env.example', () => {
  it('loads, and names every variable', async () => {
    const text = await readFile(at('.env.example'), 'utf8')
    await using folder = await aFolder({ '.env': text })
    await expect(loadConfig({ env: {}, cwd: folder.path })).resolves.toMatchObject({ service: { clientId: 'acme' } })
    const known = [...VARIABLES, 'TIDEMARK_CONFIG'].toSorted()
    const named = [...text.matchAll(/^(?:# )?([A-Z_]+)=/gm)].map(([, name]) => name ?? '')
    expect(named.toSorted()).toEqual(known)
  })

  it('loads with every commented variable switched on', async () => {
    const text = (await readFile(at('.env.example'), 'utf8')).replaceAll(/^# ([A-Z_]+=)/gm, '$1')
    const {
      REPORTING_CLIENT_SECRET_FILE: _file,
      TIDEMARK_HASH_KEY_FILE: _keyFile,
      TIDEMARK_NOTIFY_SECRET_FILE: _notifyFile,
      TIDEMARK_CONFIG: _config,
      ...env
    } = parseEnv(text)
    await using folder = await aFolder()
    const config = await loadConfig({ env, cwd: folder.path })
    expect(Object.values(config.reports).filter(({ enabled }) => enabled)).toHaveLength(2)
  })
})

describe('tidemark.schema.json', () => {
  it('equals the schema; UPDATE=1 writes it again', async () => {
    const text = `${JSON.stringify(jsonSchema(), undefined, 2)}\n`
    if (process.env['UPDATE'] === '1') await writeFile(at('tidemark.schema.json'), text)
    expect(await readFile(at('tidemark.schema.json'), 'utf8').then(JSON.parse)).toEqual(JSON.parse(text))
  })

  it('knows the flags and filters of each report, and asks for nothing that a variable may give', () => {
    const schema = jsonSchema() as {
      required?: unknown
      properties: { reports: { properties: Record<string, unknown> } }
    }
    expect(schema.required).toBeUndefined()
    expect(schema.properties.reports.properties['events']).toMatchObject({
      additionalProperties: false,
      properties: {
        expand: { items: { enum: expect.arrayContaining(['meetingRooms', 'commissions']) as unknown } },
        filters: { properties: { companyId: { type: 'integer' } } },
      },
    })
  })
})
