/** Every windowed report with history and privacy on: its tables hold what may be kept of it, and history agrees. */
import { createHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { type Declaration, reports } from '../../schema/index.ts'
import { snakeCase } from '../../schema/tables.ts'
import { startSandbox, WORLD_REPORTS, type World, type WorldReport } from '../../src/sandbox/server.ts'
import { differences } from '../../src/cli/certify/compare.ts'
import { disagreeing, overlapping } from '../support/history.ts'
import { aTide } from '../support/tide.ts'

const KEY = 'a key of at least sixteen characters'
const windowed = WORLD_REPORTS.map((name) => ({ name }))

/** Node has it; the types don't know yet. */
const exact = JSON as JSON & { rawJSON(text: string): unknown; isRawJSON(value: unknown): boolean }

type Json = Record<string, unknown>
type Rules = Record<string, 'hash' | 'drop'>

/** A text of the row is hashed, another dropped, and so in each collection: named after what the service sends. */
function rulesFor(world: World, report: WorldReport): Rules {
  const declaration: Declaration | undefined = reports.find(({ name }) => name === report)
  const rows = world.liveKeys(report).map((key) => world.row(report, key) as Json)
  const first = Object.assign({}, ...rows) as Json
  const isText = (field: string) => rows.every((row) => typeof (row[field] ?? '') === 'string')
  const stamps = new Set<string>([...(declaration?.newerBy ?? []), ...(declaration?.key ?? [])])
  const free = Object.keys(first).filter((field) => {
    const documented = declaration?.fields[field]
    return isText(field) && !stamps.has(snakeCase(field)) && (documented === undefined || documented.type === 'string')
  })
  const rules: Rules = { [snakeCase(free[0] ?? '')]: 'hash', [snakeCase(free[1] ?? '')]: 'drop' }
  for (const added of Object.values(declaration?.expand ?? {})) {
    if (added === 'fields') continue
    const items = rows.flatMap((row) => row[added.field] ?? []) as Json[]
    const [hashed, dropped] = Object.keys(Object.assign({}, ...items) as Json).filter(
      (name) => !['id', 'isDeleted'].includes(name),
    )
    if (hashed !== undefined) rules[`${snakeCase(added.field)}.${snakeCase(hashed)}`] = 'hash'
    if (dropped !== undefined) rules[`${snakeCase(added.field)}.${snakeCase(dropped)}`] = 'drop'
  }
  return rules
}

/** What may be kept of a row, worked out from its values and not from its bytes. */
function keptOf(text: string, rules: Rules): string {
  const row = JSON.parse(text, (_, value: unknown, context?: { source?: string }) =>
    typeof value === 'number' ? exact.rawJSON(context?.source ?? '') : value,
  ) as Json
  const keep = (object: Json, prefix: string): void => {
    for (const [field, value] of Object.entries(object)) {
      const rule = rules[`${prefix}${snakeCase(field)}`]
      const items = prefix === '' && typeof value === 'object' && !exact.isRawJSON(value) ? [value ?? []].flat() : []
      if (rule === undefined) for (const item of items) keep(item as Json, `${snakeCase(field)}.`)
      else if (value !== null) object[field] = rule === 'drop' ? null : hashOf(value)
    }
  }
  keep(row, '')
  return JSON.stringify(row)
}

const hashOf = (value: unknown): string =>
  createHmac('sha256', KEY)
    .update(typeof value === 'string' ? value : JSON.stringify(value))
    .digest('hex')

describe.each(windowed)('$name with history and privacy', ({ name }) => {
  it('lands what may be kept of every row, through edits, new rows and deletions, and every version of it', {
    tags: 'long',
  }, async () => {
    await using probe = await startSandbox({ rows: 40 })
    const rules = rulesFor(probe.world, name)
    const settings = { reports: { [name]: { history: true, columns: rules } } }
    await using tide = await aTide({ settings, env: { TIDEMARK_HASH_KEY: KEY } })
    const { world } = tide.sandbox
    const currencies = name === 'budgets' || name === 'automated_bookings' ? (['EUR', 'USD'] as const) : [undefined]
    const isGone = reports.find((each) => each.name === name)?.deletes === 'absence'
    for (let run = 0; run < 3; run += 1) {
      await tide.sync(name)
      for (const currency of currencies) {
        const compared = { report: name, keptOf: (text: string) => keptOf(text, rules), ...(currency && { currency }) }
        const found = await differences(tide.warehouse, world, compared)
        // Rows that just stop appearing are seen by a reconcile only (product contract §4).
        expect(isGone ? found.filter((each) => !each.endsWith('the service does not have it')) : found).toEqual([])
      }
      expect(await disagreeing(tide, name)).toEqual([])
      for (let n = 0; n < 20; n += 1) world.tick(name)
    }
    expect(await overlapping(tide, name)).toEqual([])
  })

  it('rewrites nothing when the same window is pulled again', { tags: 'long' }, async () => {
    await using probe = await startSandbox({ rows: 40 })
    const settings = { reports: { [name]: { history: true, columns: rulesFor(probe.world, name) } } }
    await using tide = await aTide({ settings, env: { TIDEMARK_HASH_KEY: KEY } })
    await tide.sync(name)
    await tide.warehouse.rows('DELETE FROM tidemark.marks')
    const [again] = await tide.sync(name)
    expect(again?.figures).toMatchObject({ inserted: 0, updated: 0, deleted: 0, childrenWritten: 0 })
    const closed = await tide.warehouse.rows(`SELECT count(*) AS n FROM history.${name} WHERE _valid_to IS NOT NULL`)
    expect(closed).toEqual([{ n: 0 }])
  })
})
