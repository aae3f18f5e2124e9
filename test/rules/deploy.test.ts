/** The files of the deployment agree with the program: settings that exist, folders that ship, a subset of compose. */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import * as environment from '../../src/config/environment.ts'
import { productFiles, ROOT } from './source.ts'

interface Compose {
  readonly name?: string
  readonly version?: string
  readonly services: Readonly<Record<string, ComposeService>>
  readonly volumes: Readonly<Record<string, unknown>>
}

interface ComposeService {
  readonly image: string
  readonly command?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly volumes?: readonly string[]
}

const textOf = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8')
const compose = parse(textOf('docker-compose.yml'), { merge: true }) as Compose
const services = Object.entries(compose.services).map(([service, each]) => ({ service, ...each }))

describe('docker-compose.yml', () => {
  it('keeps to what compose 1.29 and 2 both take', () => {
    expect(compose.name).toBeUndefined()
    expect(compose.version).toBeUndefined()
  })

  it.each(services)('passes only variables that exist to $service', ({ environment: given = {} }) => {
    const { CLIENT_SECRET, CONSOLE_TOKEN, REPORTS, variables } = environment
    const known: readonly string[] = [CLIENT_SECRET, CONSOLE_TOKEN, REPORTS, ...variables.map(({ name }) => name)]
    expect(Object.keys(given).filter((name) => !known.includes(name))).toEqual([])
  })

  it.each(services)('mounts only volumes that are declared on $service', ({ volumes = [] }) => {
    const named = volumes.map((each) => each.split(':')[0] ?? '')
    expect(named.filter((each) => !(each in compose.volumes))).toEqual([])
  })

  it('starts a Redis that keeps its data and evicts nothing', () => {
    expect(compose.services['redis']?.command?.join(' ')).toBe(
      'redis-server --appendonly yes --maxmemory-policy noeviction',
    )
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
})
