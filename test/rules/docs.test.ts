/** What the documents say is true: links lead somewhere, commands exist, configuration loads. */
import { existsSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { jsonSchema, loadConfig } from '../../src/config/config.ts'
import * as environment from '../../src/config/environment.ts'
import { Warehouse } from '../../src/warehouse/warehouse.ts'
import { STORAGE_ENV } from '../support/objectStorage.ts'
import { aFolder, REQUIRED_ENV } from '../config/folder.ts'
import { documents, markdownOf, type Markdown } from './markdown.ts'
import { ROOT } from './source.ts'

const docs = documents()
const blocks = docs.flatMap((doc) => doc.blocks.map((block) => ({ ...block, place: `${doc.name}:${block.line}` })))

function deadLinks(doc: Markdown): readonly string[] {
  return doc.links
    .filter((link) => !/^[a-z][a-z\d+.-]*:/i.test(link))
    .filter((link) => !leadsSomewhere(doc, link))
    .map((link) => `${doc.name} links to ${link}, which is not there: correct the link or write the file.`)
}

function leadsSomewhere(doc: Markdown, link: string): boolean {
  const [file = '', anchor] = decodeURI(link).split('#')
  const target = file === '' ? path.join(ROOT, doc.name) : path.join(ROOT, path.dirname(doc.name), file)
  if (!existsSync(target)) return false
  return (
    anchor === undefined || !target.endsWith('.md') || markdownOf('', readFileSync(target, 'utf8')).anchors.has(anchor)
  )
}

describe.each(docs)('$name', (doc) => {
  it('has only links that lead somewhere', () => expect(deadLinks(doc)).toEqual([]))

  it('names only npm scripts that exist', async () => {
    const { scripts } = JSON.parse(await readFile(path.join(ROOT, 'package.json'), 'utf8')) as { scripts: object }
    expect(doc.scripts.filter((script) => !(script in scripts))).toEqual([])
  })
})

describe('configuration in documents', () => {
  it('loads', async () => {
    const refused: string[] = []
    for (const { place, text } of blocks.filter(({ kind }) => kind === 'yaml tidemark')) {
      await using folder = await aFolder({ 'tidemark.yaml': text })
      await loadConfig({ env: { ...REQUIRED_ENV, ...STORAGE_ENV }, cwd: folder.path }).catch((error: unknown) =>
        refused.push(`${place}: ${String(error)}`),
      )
    }
    expect(refused).toEqual([])
  })
})

describe('statements in documents', () => {
  it('run, on a warehouse that holds nothing yet', { tags: 'long' }, async () => {
    await using warehouse = await Warehouse.open({ path: ':memory:', memory: '256MB' })
    const refused: string[] = []
    for (const { place, text } of blocks.filter(({ kind }) => kind === 'sql')) {
      await warehouse.rows(text).catch((error: unknown) => refused.push(`${place}: ${String(error)}`))
    }
    expect(refused).toEqual([])
  })
})

describe('docs/SETTINGS.md', () => {
  it('names every setting and variable', async () => {
    const text = await readFile(path.join(ROOT, 'docs/SETTINGS.md'), 'utf8')
    const keys = [...JSON.stringify(jsonSchema()).matchAll(/"([a-z]+(?:_[a-z]+)+)":\{/g)].map(([, key]) => key ?? '')
    const { CLIENT_SECRET, CONSOLE_TOKEN, REPORTS, variables } = environment
    const names = [...keys, ...variables.map(({ name }) => name), CLIENT_SECRET, CONSOLE_TOKEN, REPORTS]
    expect(names.filter((name) => !text.includes(name))).toEqual([])
  })
})

const records = docs.filter(({ name }) => name.startsWith('docs/decisions/'))
const RECORD_LINES_MAX = 40

describe('decision records', () => {
  it('are numbered on from 1', () => {
    const numbers = records.map(({ name }) => Number(path.basename(name).slice(0, 4)))
    expect(numbers).toEqual(numbers.map((_, index) => index + 1))
  })

  it.each(records)('$name is short and says decision, reason, alternatives and consequence', async ({ name }) => {
    const text = await readFile(path.join(ROOT, name), 'utf8')
    expect(text.trimEnd().split('\n').length).toBeLessThanOrEqual(RECORD_LINES_MAX)
    const parts = ['Decision', 'Reason', 'Alternatives', 'Consequence']
    expect(parts.filter((part) => !text.includes(`**${part}.**`))).toEqual([])
  })
})

describe('the record of libraries', () => {
  it('names each library that package.json has, and what it is for', async () => {
    const packages = await Promise.all(
      ['package.json', 'tools/api/package.json'].map((name) => readFile(path.join(ROOT, name), 'utf8')),
    )
    const record = await readFile(path.join(ROOT, 'docs/decisions/0012-libraries.md'), 'utf8')
    const isNamed = (library: string) =>
      record.includes(`\`${library}\``) || record.includes(`\`${library.split('/')[0]}/*\``)
    const libraries = packages.flatMap((text) => {
      const { dependencies, devDependencies } = JSON.parse(text) as Record<string, object>
      return Object.keys({ ...dependencies, ...devDependencies })
    })
    expect(
      libraries
        .filter((library) => !isNamed(library))
        .map((library) => `docs/decisions/0012-libraries.md: say what ${library} is for and why it was chosen.`),
    ).toEqual([])
  })
})

describe('the rules', () => {
  it('bite', () => {
    const doc = markdownOf(
      'README.md',
      '# A b!\n[x](gone.md) [y](#a-b) [z](#no) [w](https://x.y) `[v](code)`\n```sh\nnpm run nothing\n```\n',
    )
    expect(deadLinks({ ...doc, links: doc.links.filter((link) => !link.startsWith('#')) })).toHaveLength(1)
    expect([...doc.anchors]).toEqual(['a-b'])
    expect(doc.scripts).toEqual(['nothing'])
    expect(doc.blocks).toEqual([{ kind: 'sh', text: 'npm run nothing\n', line: 3 }])
  })
})
