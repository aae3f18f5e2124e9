/** The example in docs/ADDING-A-REPORT.md: both files run as they are printed, and describe the same report. */
import { execFileSync } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Declaration } from '../../schema/report.ts'
import { tableOf, wireKey } from '../../schema/tables.ts'
import { Dice } from '../../src/sandbox/dice.ts'
import { poolsFor } from '../../src/sandbox/pools.ts'
import type { Definition } from '../../src/sandbox/reports/definition.ts'
import { markdownOf } from '../rules/markdown.ts'
import { ROOT } from '../rules/source.ts'

const DOC = 'docs/ADDING-A-REPORT.md'

/** Runs one file of the document, with its imports resolved as if it were in its folder. */
async function load<T>(folder: string, file: string): Promise<T> {
  const { blocks } = markdownOf(DOC, await readFile(path.join(ROOT, DOC), 'utf8'))
  const text = blocks.find(({ kind }) => kind === `ts ${file}`)?.text ?? ''
  const from = path.dirname(path.join(ROOT, file))
  const copy = path.join(folder, file.replaceAll('/', '-'))
  await writeFile(
    copy,
    text.replaceAll(/from '(\.[^']+)'/g, (_, target: string) => `from '${path.resolve(from, target)}'`),
  )
  return ((await import(pathToFileURL(copy).href)) as { cateringOrders: T }).cateringOrders
}

describe('the example of docs/ADDING-A-REPORT.md', () => {
  let folder = ''
  let declared: Declaration
  let served: Definition

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'tidemark-doc-'))
    declared = await load<Declaration>(folder, 'schema/reports/cateringOrders.ts')
    served = await load<Definition>(folder, 'src/sandbox/reports/cateringOrders.ts')
  })
  afterAll(() => rm(folder, { recursive: true }))

  it('declares a report with a table and a child table', () => {
    const { name, key, children } = tableOf(declared)
    expect({ name, key, children: children.map((child) => child.name) }).toEqual({
      name: 'catering_orders',
      key: ['order_id'],
      children: ['catering_orders__dishes'],
    })
  })

  it('is served at the declared path, with the declared key, parameters and flags', () => {
    expect(served.path).toBe(declared.path)
    expect(served.envelope).toBe(declared.answer === 'envelope')
    expect([served.key]).toEqual(wireKey(declared))
    expect(served.collections.map(({ flag }) => flag)).toEqual(Object.keys(declared.expand))
    const { window, created, filters } = declared
    const wanted = [window.since, window.until, created?.since, created?.until, ...Object.keys(filters)]
    expect(Object.keys(served.parameters)).toEqual(expect.arrayContaining(wanted))
  })

  it('is formatted as the project formats its code', async () => {
    const { blocks } = markdownOf(DOC, await readFile(path.join(ROOT, DOC), 'utf8'))
    for (const { text } of blocks.filter(({ kind }) => kind.startsWith('ts '))) {
      const biome = path.join(ROOT, 'node_modules/.bin/biome')
      const formatted = execFileSync(biome, ['format', '--stdin-file-path=schema/x.ts'], { cwd: ROOT, input: text })
      expect(text).toBe(String(formatted))
    }
  })

  it('is served with every declared field', () => {
    const makings = {
      seed: 1,
      pools: poolsFor(1),
      rows: 10,
      collections: true,
      rateTable: () => 0,
      historyEnd: 0,
      timeStyle: undefined,
      amounts: 'cents',
    } as const
    const dice = new Dice(makings, declared.name, 0)
    const row = { key: served.firstKey, dice, created: 0, modified: 0, aggregate: 0, deleted: false }
    expect(Object.keys(served.fields(row))).toEqual(expect.arrayContaining(Object.keys(declared.fields)))
    expect(Object.keys(served.edits).length).toBeGreaterThan(0)
  })
})
