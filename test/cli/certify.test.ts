/** `tidemark certify` against the sandbox: declarations that are right, and mistakes that a claim must show. */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect, it } from 'vitest'
import { type Declaration, registerReports, type ReportName } from '../../schema/index.ts'
import { boolean, dateTime, decimal, defineReport, integer, manyOf, string } from '../../schema/report.ts'
import { conformanceOf } from '../../src/cli/certify/conformance.ts'
import { markdownOf } from '../rules/markdown.ts'
import { ROOT } from '../rules/source.ts'
import { aPlace } from './support.ts'

const CLAIMS = 12
const signal = new AbortController().signal

const right = {
  meaning: 'Orders',
  path: '/v2/Orders',
  answer: 'envelope',
  key: ['order_id'],
  fields: {
    orderId: integer('Unique order identifier'),
    customer: string('Name of the customer'),
    changedAt: dateTime('When the order was last changed'),
    total: decimal('Total amount'),
    isGone: boolean('Whether the order is deleted'),
  },
  newerBy: ['changed_at'],
  window: { since: 'changedFrom', until: 'changedTo', required: true },
  deletes: 'flag',
  deletedFlag: 'isGone',
  includeDeleted: 'withGone',
  pages: { number: 'page', size: 'perPage', items: 'orders', total: 'found' },
  expand: manyOf('lines'),
} as const

/** Certifies a declaration while the sandbox serves the right one. Returns the claims that are not true. */
async function failuresOf(name: string, mistake: Partial<Declaration>): Promise<Record<string, string>> {
  const findings = await certified(name, {}, mistake)
  return Object.fromEntries(
    findings.filter(({ verdict }) => verdict === 'fail').map((each) => [each.check, each.found]),
  )
}

async function certified(name: string, of: object, mistake: Partial<Declaration> = {}) {
  const served = defineReport({ ...right, ...of, name, path: `/v2/${name}` })
  registerReports([{ ...served, ...mistake }])
  const findings = await conformanceOf(name as ReportName, signal, [served])
  expect(findings).toHaveLength(CLAIMS)
  return findings
}

const FIRST = 'each row arrives once, with its fields and collections'

it('certifies the report that docs/OWN-REPORTS.md declares, without a configuration', { tags: 'long' }, async () => {
  const { blocks } = markdownOf('OWN-REPORTS.md', await readFile(path.join(ROOT, 'docs/OWN-REPORTS.md'), 'utf8'))
  const text = blocks.find(({ kind }) => kind === 'ts reports/cateringOrders.ts')?.text ?? ''
  await using place = await aPlace()
  await mkdir(path.join(place.folder, 'reports'))
  await writeFile(path.join(place.folder, 'reports/cateringOrders.ts'), text)
  const { code, stdout } = await place.start(['certify', '--reports-from', 'reports', '--json']).ended
  const [certified, ...others] = (JSON.parse(stdout) as { reports: { report: string; claims: object[] }[] }).reports
  expect(others).toEqual([])
  expect(certified).toMatchObject({ report: 'catering_orders' })
  expect(certified?.claims.map((each) => (each as { result: string }).result)).toEqual(Array(CLAIMS).fill('ok'))
  expect(code).toBe(0)
})

it('certifies events', { tags: 'long' }, async () => {
  const findings = await conformanceOf('events', signal)
  expect(findings.filter(({ verdict }) => verdict !== 'ok')).toEqual([])
  expect(findings).toHaveLength(CLAIMS)
})

it('certifies a key of two text fields', { tags: 'long' }, async () => {
  const fields = { ...right.fields, orderId: string('Number of the order'), site: string('Where') }
  const two = defineReport({ ...right, name: 'certify_two', path: '/v2/two', fields, key: ['order_id', 'site'] })
  registerReports([two])
  const findings = await conformanceOf('certify_two' as ReportName, signal, [two])
  expect(findings.filter(({ verdict }) => verdict !== 'ok')).toEqual([])
})

it('finds a wrong key, since rows are missing', async () => {
  expect((await failuresOf('certify_key', { key: ['customer'] }))[FIRST]).toMatch(/rejected|missing|times/)
})

it('finds a collection that is not declared', { tags: 'long' }, async () => {
  const found = await failuresOf('certify_collection', { expand: {} })
  expect(found[FIRST]).toMatch(/lines of the row \d+ differs/)
})

it('finds a time that does not move with edits in newerBy', { tags: 'long' }, async () => {
  const created = { customerSince: dateTime('When the customer was created'), ...right.fields }
  const found = await failuresOf('certify_newer', { newerBy: ['customer_since'], fields: created })
  expect(Object.values(found)).toEqual(['customer_since did not become newer after an edit'])
})

it('finds a wrong name of the envelope or of a parameter', { tags: 'long' }, async () => {
  const found = await failuresOf('certify_pages', { pages: { ...right.pages, items: 'rows' } })
  expect(Object.keys(found)).toEqual([FIRST])
})

it.each([['certify'], ['sandbox']])(
  '%s names an existing guide if there is no declaration to read',
  async (command) => {
    await using place = await aPlace()
    const { code, stderr } = await place.run(command, '--reports-from', 'nowhere')
    expect(code).toBe(2)
    const guide = /run this command again\. (\S+) shows how to declare a report\./.exec(stderr)?.[1] ?? ''
    expect(guide).toBe(path.join(ROOT, 'docs/OWN-REPORTS.md'))
    expect(stderr).not.toContain('tidemark.example.yaml')
  },
)

it('says what to change in the declaration if the sandbox refuses a request', async () => {
  const findings = await certified('certify_refused', {}, { pages: { ...right.pages, number: 'seite' } })
  expect(findings[0]).toMatchObject({ check: FIRST, verdict: 'fail', code: 'REQUEST_INVALID' })
  expect(findings[0]?.cure).toMatch(/^Compare path, pages, window, .* of the declaration/)
})

it('advises created if a first run without bounds needs rows in order', { tags: 'long' }, async () => {
  const findings = await certified('certify_unbounded', { window: { ...right.window, required: false } })
  expect(findings.find(({ verdict }) => verdict === 'fail')).toMatchObject({
    check: 'survives rows in another order at each request',
    code: 'WALK_UNSTABLE',
    cure: expect.stringMatching(/^If the service can filter by creation time, add created/) as string,
  })
})

it('names the reports if one is unknown, and refuses audit reports', async () => {
  await using place = await aPlace({ env: { REPORTING_CLIENT_SECRET: 's', REPORTING_CLIENT_ID: 'i' } })
  const unknown = await place.runWith({ REPORTING_BASE_URL: 'http://localhost:1' }, 'certify', 'event')
  expect(unknown).toMatchObject({ code: 2, stderr: expect.stringContaining('there is no report "event"') as string })
  const audit = await place.run('certify', 'audit_entries')
  expect(audit).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('audit_entries is an audit report') as string,
  })
})
