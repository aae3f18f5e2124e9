/** `tidemark certify --service` names what a service does in its own way. */
import { describe, expect, it } from 'vitest'
import { registerReports } from '../../schema/index.ts'
import { defineReport, many } from '../../schema/report.ts'
import { merfSubmissions } from '../../schema/reports/merfSubmissions.ts'
import { aWorld, SECRET_TEXT } from './support.ts'

const LONG = { tags: 'long' }

async function pageFor(report: string, faults: readonly string[], changesPerSecond = 0): Promise<string> {
  await using world = await aWorld({
    sandbox: { rows: 120, faults, changesPerSecond },
    isNew: true,
    settings: { defaults: { page_size: 50 }, currencies: ['EUR', 'USD'] },
  })
  const { code, stdout, stderr } = await world.run('certify', report, '--service', '--format', 'markdown')
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).not.toContain(SECRET_TEXT)
  expect(world.sandbox.requests.list().filter(({ path }) => path.startsWith('/reportingapi')).length).toBeLessThan(61)
  return stdout
}

it('describes a service that does what the specification demands', async () => {
  const page = await pageFor('merf_submissions', [])
  expect(page).not.toContain('| warn |')
  expect(page).toContain('| first page | ok | pages are counted from 1 |')
  expect(page).toContain('| totals | ok | the total is true: 120 rows |')
  expect(page).toContain('| after the last page | ok | an empty page follows page 3 |')
  expect(page).toContain('### Could not be found out\n\n- window: the rows have no modification time')
  expect(page).toContain('- late rows: there is no warehouse yet')
  const stamped = await pageFor('budgets', [])
  expect(stamped).toMatch(/\| window \| ok \| \d+ rows of a window have their times inside it \|/)
  expect(stamped).toMatch(/\| modification times \| ok \| the newest one of all rows is 2\d{3}-/)
  expect(stamped).toContain('- delay: no row was edited between two reads, so settle could not be tried')
  expect(page).toContain('| expand | ok | rows with 3 flags of expand have the field of each collection |')
  expect(stamped).toContain('| currencies | ok | the first page has 50 rows in each of EUR, USD |')
})

it.each([
  ['clamp:20', /page size \| warn \| 50 rows requested, 20 returned/],
  ['from-zero', /first page \| ok \| pages are counted from 0[^]*120 rows, each with a key of its own/],
  ['ignore-page', /page numbers \| warn \| every page is the first one again/],
  ['total-lies:3', /totals \| warn \| the total is 123, but the pages have 120 rows/],
  ['beyond:404', /after the last page \| ok \| a refusal \(\w+\) follows page 3/],
  ['unordered', /order \| warn \| two reads of the first page had other rows/],
  ['bad-rows:7', /keys \| warn \| \d+ rows would be rejected/],
  ['duplicate-row', /keys \| warn \| \d+ keys came more than once/],
])('names the fault %s', async (fault, line) => {
  expect(await pageFor('merf_submissions', [fault])).toMatch(line)
})

describe.each([
  [
    'wrong times',
    100_000,
    /hidden for at least 1 d.*[^]*- delay: Set overlap to more than this, such as \d+[dhm]/,
    LONG,
  ],
  [
    'a service that lags',
    120,
    /hidden for at least \d+ .*[^]*- delay: .*so the whole service lags: set settle to \d+[sm]\./,
    {},
  ],
  [
    'a service that lags less than settle',
    5,
    /\| delay \| ok \| none of \d+ edits was hidden longer than settle \(30 s\)/,
    LONG,
  ],
] as const)('for %s', (_, seconds, line, options) => {
  it('advises settle or overlap', options, async () => {
    expect(await pageFor('budgets', [`stamps-back:${seconds}`, 'slow:100'], 300)).toMatch(line)
  })
})

it('names a collection that no row has', async () => {
  const expand = { ...merfSubmissions.expand, person: many('people') }
  registerReports([defineReport({ ...merfSubmissions, name: 'certify_people', expand })])
  expect(await pageFor('certify_people', [])).toContain('| expand | warn | rows with 3 flags of expand lack people |')
})

it('fails with the reason if the service refuses the report', async () => {
  await using world = await aWorld({ sandbox: { faults: ['403@events'] } })
  const { code, stdout } = await world.run('certify', 'events', '--service')
  expect({ code, stdout }).toEqual({ code: 1, stdout: expect.stringMatching(/events +fail/) as string })
})
