/** `tidemark certify --service` names what a service does in its own way. */
import { expect, it } from 'vitest'
import { aWorld, SECRET_TEXT } from './support.ts'

async function pageFor(report: string, faults: readonly string[], changesPerSecond = 0): Promise<string> {
  await using world = await aWorld({
    sandbox: { rows: 120, faults, changesPerSecond },
    settings: { defaults: { page_size: 50 } },
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
})

it.each([
  ['clamp:20', /page size \| warn \| 50 rows were requested, 20 were returned/],
  ['from-zero', /first page \| ok \| pages are counted from 0[^]*120 rows, each with a key of its own/],
  ['ignore-page', /page numbers \| warn \| every page is the first one again/],
  ['total-lies:3', /totals \| warn \| the total is 123, but 120 rows were returned/],
  ['beyond:404', /after the last page \| ok \| a refusal \(\w+\) follows page 3/],
  ['unordered', /order \| warn \| two reads of the first page had other rows/],
  ['bad-rows:7', /keys \| warn \| \d+ rows would be rejected/],
  ['duplicate-row', /keys \| warn \| \d+ keys came more than once/],
])('names the fault %s', async (fault, line) => {
  expect(await pageFor('merf_submissions', [fault])).toMatch(line)
})

it('names edits whose times lie in the past', async () => {
  // More than a day, so that a slow machine still finds a day before the read.
  const page = await pageFor('budgets', ['stamps-back:100000', 'slow:100'], 300)
  expect(page).toMatch(/modification times \| warn \| a row that changed after it was read has a time 1 d/)
})

it('fails with the reason if the service refuses the report', async () => {
  await using world = await aWorld({ sandbox: { faults: ['403@events'] } })
  const { code, stdout } = await world.run('certify', 'events', '--service')
  expect({ code, stdout }).toEqual({ code: 1, stdout: expect.stringMatching(/events +fail/) as string })
})
