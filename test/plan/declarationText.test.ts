/** For any rows, the guessed declaration is valid and formatted, and the rows fit the types of its columns. */
import { execFileSync } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { runInThisContext } from 'node:vm'
import * as fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { contradictionsIn } from '../../schema/declarationProblems.ts'
import { type Declaration, registerReports } from '../../schema/index.ts'
import * as vocabulary from '../../schema/report.ts'
import { tableOf } from '../../schema/tables.ts'
import { aPlace } from '../cli/support.ts'
import { ROOT } from '../rules/source.ts'
import { aWarehouse, loadRows } from '../support/warehouse.ts'

const SAMPLES = 60

const json = (value: unknown) => JSON.stringify(value)
const digits = (max: number) => fc.stringMatching(new RegExp(`^[1-9][0-9]{0,${max - 1}}$`))
const time = fc
  .record({ at: fc.date({ min: new Date('0001-01-01'), max: new Date('9999-12-30'), noInvalidDate: true }) })
  .chain(({ at }) =>
    fc.constantFrom('Z', '', '+02:00', '.1234567Z').map((end) => json(at.toISOString().slice(0, 19) + end)),
  )

/** JSON texts, because JavaScript would round the numbers. */
const VALUES: Record<string, fc.Arbitrary<string>> = {
  integer: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String),
  small: fc.integer().map(String),
  huge: digits(29),
  wider: digits(45),
  decimal: fc
    .tuple(fc.constantFrom('', '-'), digits(29), digits(9))
    .map(([sign, whole, part]) => `${sign}${whole}.${part}`),
  fine: digits(20).map((part) => `0.${part}`),
  exponent: fc.tuple(digits(5), fc.integer({ min: -30, max: 40 })).map(([n, power]) => `${n}e${power}`),
  boolean: fc.boolean().map(json),
  text: fc.string({ unit: 'grapheme' }).map(json),
  time,
  date: time.map((text) => `${text.slice(0, 11)}"`),
  array: fc
    .array(fc.oneof(fc.integer().map(String), fc.constant('{"id":1,"a":null}')))
    .map((items) => `[${items.join()}]`),
  object: fc.constantFrom('{}', '{"a":1.50}', '{"b":[1,{"c":null}]}'),
  null: fc.constant('null'),
}
const anyValue = fc.oneof(...Object.values(VALUES))
const NAMES = [
  'name',
  'totalAmount',
  'changedAt',
  'modifiedAt',
  'isDeleted',
  'deleted',
  'wasRemoved',
  'eventId',
  'code',
  'dishes',
  '_extra',
  '_payload',
  '__proto__',
  'constructor',
  'rowid',
  'fooBar',
  'foo_bar',
  'FooBar',
  'foo bar',
  '1st',
  '',
  "it's",
  '"',
  'größe',
  '日本',
  'a😀',
  '#',
  '$',
  '\\',
  '\u2028',
  '\u0000',
  'end',
  'x'.repeat(48),
  'x'.repeat(300),
  'ABAB'.repeat(12),
  'lastUpdatedAtTheServiceByTheNightlyImportJobTime',
  'updatedAtTheServiceByAnybodyWhoWorksThereOnMonday',
  'changedAtTheServiceByAnybodyWhoWorksThereOnSunday',
] // prettier-ignore
const field = fc.record({
  name: fc.constantFrom(...NAMES),
  value: fc.constantFrom(...Object.values(VALUES), anyValue),
  isSparse: fc.boolean(),
})
const answer = fc
  .record({
    fields: fc.uniqueArray(field, { selector: ({ name }) => name, maxLength: 12 }),
    keys: fc.uniqueArray(fc.integer(), { minLength: 1, maxLength: 8 }),
    isEnvelope: fc.boolean(),
  })
  .chain(({ fields, keys, isEnvelope }) =>
    fc
      .tuple(
        ...keys.map((key) =>
          fc
            .tuple(
              ...fields.map(({ name, value, isSparse }) =>
                (isSparse ? fc.option(value) : value).map((text) => (text === null ? [] : [`${json(name)}:${text}`])),
              ),
            )
            .map((members) => `{${[...members.flat(), `"orderId":${key}`].join()}}`),
        ),
      )
      .map((rows) => ({ rows: `[${rows.join()}]`, count: rows.length, isEnvelope })),
  )

const declarationIn = (text: string): unknown => {
  const [, words = '', body = ''] = /import (\{.*\}) from 'tidemark'\n\nexport const report = ([^]*)$/.exec(text) ?? []
  return (runInThisContext(`(${words}) => ${body}`) as (given: typeof vocabulary) => unknown)(vocabulary)
}

let folder = ''
beforeAll(async () => void (folder = await mkdtemp(path.join(tmpdir(), 'tidemark-guess-'))))
afterAll(() => rm(folder, { recursive: true, force: true }))

it(`writes declarations that are valid and formatted, and whose types fit, for ${SAMPLES} answers`, {
  tags: 'long',
}, async () => {
  await using place = await aPlace()
  const samples = fc.sample(answer, SAMPLES)
  const declared: Declaration[] = []
  for (const [n, { rows, count, isEnvelope }] of samples.entries()) {
    const page = isEnvelope ? `{"pageNumber":1,"found":${count},"orders":${rows}}` : rows
    await writeFile(path.join(place.folder, 'a.json'), page)
    const out = path.join(folder, `orders_${n}.ts`)
    const run = await place.run(
      'new-report',
      '--from',
      'a.json',
      '--name',
      `orders_${n}`,
      '--path',
      '/v1/x',
      '--out',
      out,
    )
    expect({ page, ...run }).toMatchObject({ code: 0, stderr: '' })
    const report = vocabulary.Declaration.parse(declarationIn(await readFile(out, 'utf8')))
    expect({ page, problems: contradictionsIn(report) }).toEqual({ page, problems: [] })
    declared.push(report)
    expect(report.pages).toMatchObject(isEnvelope ? { items: 'orders', total: 'found' } : { items: 'items' })
  }
  const biome = path.join(ROOT, 'node_modules/.bin/biome')
  await writeFile(
    path.join(folder, 'biome.json'),
    (await readFile(path.join(ROOT, 'biome.json'), 'utf8')).replace(/ *"vcs".*\n/, ''),
  )
  execFileSync(biome, ['format', '.'], { cwd: folder })
  registerReports(declared)
  await using opened = await aWarehouse()
  for (const [n, { rows, count }] of samples.entries()) {
    const report = declared[n] as Declaration
    const load = await loadRows(opened, { ...report, answer: 'array' }, rows)
    expect({ rows, load }).toMatchObject({ load: { inserted: count, rejected: 0 } })
  }
  // Values of fields that are left out can be misfits of the columns that the load adds.
  const misfits = await opened.warehouse.rows<{ report: string; column: string }>(
    'SELECT report, "column", value, reason FROM tidemark.misfits',
  )
  const columns = new Set(
    declared.flatMap((report) => tableOf(report).fields.map(({ name }) => `${report.name}.${name}`)),
  )
  expect(misfits.filter(({ report, column }) => columns.has(`${report}.${column}`))).toEqual([])
  expect(columns.size).toBeGreaterThan(SAMPLES)
})
