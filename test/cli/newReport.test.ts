/** `tidemark new-report`: a declaration from answers of the service, guess by guess, and what wrong files bring. */
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { markdownOf } from '../rules/markdown.ts'
import { ROOT } from '../rules/source.ts'
import { aPlace } from './support.ts'

const row = (orderId: number, more: object = {}) => ({ orderId, room: `r${orderId}`, ...more })

/** Returns what new-report prints for these answers, each as text or as a value. */
async function guess(answers: readonly unknown[], ...args: readonly string[]) {
  await using place = await aPlace()
  const files = answers.map((_, n) => `page${n}.json`)
  for (const [n, answer] of answers.entries()) {
    const text = typeof answer === 'string' ? answer : JSON.stringify(answer)
    await writeFile(path.join(place.folder, `page${n}.json`), text)
  }
  return place.run('new-report', '--from', ...files, '--name', 'orders', ...args)
}
const guessed = async (...answers: readonly unknown[]) => (await guess(answers)).stdout

describe('tidemark new-report', () => {
  it('writes the file that docs/OWN-REPORTS.md shows, and does not replace it', async () => {
    const { blocks } = markdownOf('OWN-REPORTS.md', await readFile(path.join(ROOT, 'docs/OWN-REPORTS.md'), 'utf8'))
    const shown = (kind: string) => blocks.find((each) => each.kind === kind)?.text ?? ''
    await using place = await aPlace({ files: { 'answer.json': shown('json answer.json') } })
    const command = ['new-report', '--from', 'answer.json', '--name', 'room_keys', '--out', 'roomKeys.ts']
    expect(await place.run(...command)).toMatchObject({ code: 0, stderr: '' })
    expect(await readFile(path.join(place.folder, 'roomKeys.ts'), 'utf8')).toBe(shown('ts roomKeys.ts'))
    const again = await place.run(...command)
    expect(again).toMatchObject({ code: 2, stdout: '' })
    expect(again.stderr).toMatch(/roomKeys\.ts[^]*Choose a file that does not exist/)
  })

  it('joins pages, and counts a row that is on two of them once', async () => {
    const text = await guessed({ items: [row(1), row(2)], totalCount: 3 }, { items: [row(2), row(3)], totalCount: 3 })
    expect(text).toContain('from 3 rows')
    expect(text).toContain("key: ['order_id'],")
    expect(text).toContain("items: 'items',")
  })

  it('tells keys apart that a double would round to the same number', async () => {
    const text = await guessed('[{"orderId":9007199254740993},{"orderId":9007199254740992}]')
    expect(text).toContain("key: ['order_id'],")
    expect(text).toContain('orderId: integer(')
  })

  it.each([
    [
      'the own identifier before others',
      [
        { eventId: 1, orderId: 7 },
        { eventId: 2, orderId: 8 },
      ],
      "['order_id']",
    ],
    [
      'the first column before other texts',
      [
        { room: 'a', note: 'x' },
        { room: 'b', note: 'y' },
      ],
      "['room']",
    ],
    [
      'no column if none is distinct',
      [
        { a: 1, b: [1] },
        { a: 1, b: [2] },
      ],
      '[]',
    ],
    ['no column with an empty or missing value', [{ code: '', n: 5 }, { n: 6 }], "['n']"],
  ])('chooses as the key %s', async (_, rows, key) => {
    expect(await guessed(rows)).toContain(`key: ${key},`)
  })

  it('puts the latest modification time first, and takes only times', async () => {
    const times = {
      updatedAt: '2026-01-01T10:00:00Z',
      aggregateModified: '2026-01-01T12:00:00+01:00',
      changedBy: 'Ann',
    }
    expect(await guessed([row(1, times)])).toContain("newerBy: ['aggregate_modified', 'updated_at'],")
  })

  it('takes a deletion flag only if it is true or false', async () => {
    expect(await guessed([row(1, { isDeleted: false })])).toContain(
      "deletes: 'flag',\n  deletedFlag: 'isDeleted',\n  includeDeleted: 'includeDeleted',",
    )
    const text = await guessed([row(1, { isDeleted: 'no' })])
    expect(text).toContain("deletes: 'absence',")
    expect(text).toContain('// left out: "isDeleted"')
    const both = await guessed([row(1, { wasRemoved: true, isDeleted: false })])
    expect(both).toContain("deletedFlag: 'isDeleted'")
  })

  it.each([
    ['an HTML page', '<!DOCTYPE html><h1>502</h1>', 'page0.json: Unexpected token'],
    ['an answer that is cut', '[{"orderId":1}', 'page0.json: Expected'],
    ['an empty file', '', 'page0.json: Unexpected end'],
    ['an error of the service', { errors: [{ propertyName: 'x', errorMessage: 'x is needed' }] }, 'x is needed'],
    ['another error', { status: 403, title: 'Forbidden' }, 'no array of rows, but Forbidden'],
    ['no rows', { items: [], totalCount: 0 }, 'no row has a field'],
    ['nothing', 'null', 'no array of rows'],
    ['values that are no rows', [1, 2], 'row 1: the row is no object'],
    ['a row that has a field twice', '[{"a":1},{"a":1,"a":2}]', 'row 2: the field a is there twice'],
  ])('ends with 2 for %s', async (_, answer, message) => {
    const { code, stdout, stderr } = await guess([answer])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(message)
    expect(stderr).toMatch(/USAGE_INVALID[^]*Save the body of a successful answer/)
  })

  it.each([
    [['--name', 'events'], 'the name events is taken'],
    [['--name', 'Room Keys'], 'the name Room Keys is taken or not possible'],
    [['--path', 'v1/x'], 'v1/x is no path'],
    [['--from', 'missing.json'], 'missing.json'],
    [['--out', 'missing/a.ts'], 'missing/a.ts'],
  ])('ends with 2 for %j', async (args, message) => {
    const { code, stdout, stderr } = await guess([[row(1)]], ...args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(message)
  })

  it('refuses pages of different forms', async () => {
    expect((await guess([[row(1)], { items: [row(2)] }])).stderr).toContain('the files have different forms of answers')
  })

  it('writes a file that reports_from refuses with a clear word until the path is filled in, and then syncs', {
    tags: 'long',
  }, async () => {
    await using place = await aPlace({ env: { REPORTING_CLIENT_SECRET: 'demo-secret' } })
    const { blocks } = markdownOf('OWN-REPORTS.md', await readFile(path.join(ROOT, 'docs/OWN-REPORTS.md'), 'utf8'))
    await writeFile(
      path.join(place.folder, 'served.ts'),
      blocks.find(({ kind }) => kind.startsWith('ts reports/'))?.text ?? '',
    )
    const sandbox = place.start(['sandbox', '--reports-from', 'served.ts', '--rows', '40', '--port', '0', '--json'])
    try {
      await expect.poll(() => sandbox.said(), { timeout: 60_000 }).toContain('"url"')
      const { url } = JSON.parse(/\{.*\}/.exec(sandbox.said())?.[0] ?? '') as { url: string }
      const answer = await ordersFrom(url)
      await writeFile(path.join(place.folder, 'answer.json'), answer)
      await writeFile(
        path.join(place.folder, 'tidemark.yaml'),
        `service: { base_url: "${url}", client_id: demo }\nreports_from: guessed.ts\n`,
      )
      const names = ['--name', 'catering_orders', '--out', 'guessed.ts']
      expect(await place.run('new-report', '--from', 'answer.json', ...names)).toMatchObject({ code: 0 })
      const run = (...args: string[]) => place.start(args).ended
      const refused = await run('sync', 'catering_orders')
      expect(refused.code).toBe(2)
      expect(refused.stderr).toMatch(/guessed\.ts:\d+ +report catering_orders: path must begin with \//)
      const file = path.join(place.folder, 'guessed.ts')
      const filled = [
        ["path: ''", "path: '/v2/Catering/Orders'"],
        ['modifiedSince', 'changedFrom'],
        ['modifiedUntil', 'changedTo'],
        ["'pageNumber'", "'page'"],
        ["'pageSize'", "'perPage'"],
      ] as const
      const text = filled.reduce((all, [from, to]) => all.replace(from, to), await readFile(file, 'utf8'))
      await writeFile(file, text)
      expect(await run('sync', 'catering_orders')).toMatchObject({ code: 0 })
      const sql = `SELECT count(*) AS orders, count(total_amount) AS amounts, (SELECT count(*) FROM tidemark.misfits) AS misfits,
        (SELECT count(*) > 0 FROM current.catering_orders__dishes) AS dishes FROM current.catering_orders`
      const { stdout } = await run('query', '--format', 'json', sql)
      expect(JSON.parse(stdout)).toMatchObject([{ orders: 40, amounts: 40, misfits: 0, dishes: true }])
      expect(await run('verify', 'catering_orders')).toMatchObject({ code: 0 })
    } finally {
      sandbox.kill('SIGTERM')
      await sandbox.ended
    }
  })
})

async function ordersFrom(url: string): Promise<string> {
  const post = (to: string, body: object, more: Record<string, string> = {}) =>
    fetch(url + to, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...more },
      body: JSON.stringify(body),
    })
  const client = { clientId: 'demo', clientSecret: 'demo-secret' }
  const token = (await (await post('/authenticationapi/Account/RequestToken', client)).json()) as Record<string, string>
  const given = { authorization: `Bearer ${Object.values(token).find((each) => each.startsWith('ey')) ?? ''}` }
  return (
    await post('/reportingapi/v2/Catering/Orders', { page: 1, perPage: 20, expand: { dishes: true } }, given)
  ).text()
}
