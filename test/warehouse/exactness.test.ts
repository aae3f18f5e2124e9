/**
 * Not a digit is lost on the way from the bytes of a page into a column, `_payload` or `_extra` (product contract §4).
 */
import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { budgets } from '../../schema/reports/budgets.ts'
import { enquiries } from '../../schema/reports/enquiries.ts'
import { ITEM_FIELDS_MAX } from '../../src/plan/stagedNames.ts'
import { canonical } from '../../src/cli/certify/compare.ts'
import { aWarehouse, loadRows, type OpenWarehouse, texts } from '../support/warehouse.ts'

let opened: OpenWarehouse
beforeAll(async () => {
  opened = await aWarehouse()
})
afterAll(() => opened[Symbol.asyncDispose]())

const digits = (min: number, max: number) => fc.stringMatching(new RegExp(`^[0-9]{${min},${max}}$`))
const whole = (max: number) => digits(1, max).map((text) => text.replace(/^0+(?=.)/, ''))
const fitting = fc
  .tuple(fc.constantFrom('', '-'), whole(29), fc.option(digits(1, 9)))
  .map(([sign, int, fraction]) => `${sign}${int}${fraction === null ? '' : `.${fraction}`}`)
const anyNumber = fc
  .tuple(fc.constantFrom('', '-'), whole(40), fc.option(digits(1, 40)), fc.option(fc.integer({ min: -40, max: 40 })))
  .map(
    ([sign, int, fraction, power]) =>
      `${sign}${int}${fraction === null ? '' : `.${fraction}`}${power === null ? '' : `e${power}`}`,
  )

let nextId = 1
const numbered = <T>(values: readonly T[]) => values.map((value) => [nextId++, value] as const)
const idsOf = (rows: readonly (readonly [number, unknown])[]) => rows.map(([id]) => id).join(', ')

/** The number behind `"name":` in the JSON text of an object. */
const exactMember = (json: string | null | undefined, name: string): string | undefined =>
  new RegExp(`"${name}":\\[?(?:\\{"deep":)?(-?[0-9][0-9.eE+-]*)`).exec(json ?? '')?.[1]
const memberOf = (json: string | null | undefined, name: string): string =>
  exactMember(json, name) ?? `nothing in ${json}`

describe('a decimal', () => {
  it('comes out of its documented column as it went in, to the last digit', { tags: 'long' }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fitting, { minLength: 1, maxLength: 60 }), async (values) => {
        const rows = numbered(values)
        const json = rows.map(([id, value]) => `{"budgetId":${id},"totalAmount":${value}}`).join(',')
        expect((await loadRows(opened, budgets, `[${json}]`)).rejected).toBe(0)
        const held = await texts(opened, 'main.budgets', {
          columns: ['budget_id', 'total_amount', '_extra'],
          where: `budget_id IN (${idsOf(rows)})`,
        })
        const byId = new Map(held.map((row) => [row['budget_id'], row]))
        for (const [id, value] of rows) {
          expect(canonical(byId.get(String(id))?.['total_amount'] ?? '')).toBe(canonical(value))
          expect(byId.get(String(id))?.['_extra'] ?? null).toBeNull()
        }
      }),
      { numRuns: 15 },
    )
  })

  it('is stored exactly, in a discovered column or beside it, in a payload and nested values, whatever its size', {
    tags: 'long',
  }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyNumber, { minLength: 1, maxLength: 40 }), async (values) => {
        const rows = numbered(values)
        const json = rows.map(
          ([id, v]) =>
            `{"budgetId":${id},"rate":${v},"nested":{"deep":${v}},"list":[${v},"x"],"taxes":[{"id":${id},"rate":${v},"nested":{"deep":${v}}}]}`,
        )
        await loadRows(opened, budgets, `[${json.join(',')}]`)
        const where = `budget_id IN (${idsOf(rows)})`
        const parents = await texts(opened, 'main.budgets', { columns: ['budget_id', 'rate', '_extra'], where })
        const children = await texts(opened, 'main.budgets__taxes', {
          columns: ['budget_id', 'rate', 'nested', '_payload'],
          where,
        })
        const expected = new Map(rows.map(([id, value]) => [String(id), canonical(value)]))
        for (const row of parents) {
          const value = expected.get(row['budget_id'] ?? '')
          expect(canonical(exactMember(row['_extra'], 'rate') ?? row['rate'] ?? '')).toBe(value)
          expect(canonical(memberOf(row['_extra'], 'nested'))).toBe(value)
          expect(canonical(memberOf(row['_extra'], 'list'))).toBe(value)
        }
        for (const row of children) {
          const value = expected.get(row['budget_id'] ?? '')
          const sent = memberOf(row['_payload'], 'rate')
          // The type of the column follows from earlier loads, so the column may have a rounded number, or none.
          if (row['rate'] !== null) expect(Number(row['rate']) / Number(sent) || 1).toBeCloseTo(1, 6)
          expect(canonical(memberOf(row['nested'], 'deep'))).toBe(value)
          expect(canonical(sent)).toBe(value)
          expect(canonical(memberOf(row['_payload'], 'nested'))).toBe(value)
        }
        expect([parents.length, children.length]).toEqual([rows.length, rows.length])
      }),
      { numRuns: 15 },
    )
  })

  it('comes out of a child column that holds lists and texts too as it went in, however many fields there are', {
    tags: 'long',
  }, async () => {
    const many = Array.from({ length: ITEM_FIELDS_MAX }, (_, n) => `"f${n}":${n}`).join(',')
    await fc.assert(
      fc.asyncProperty(anyNumber, async (value) => {
        const [[id]] = numbered([value]) as [readonly [number, string]]
        const sent = [
          value,
          `[${value}]`,
          `{"a":[${value}]}`,
          `"${value}"`,
          '"[1"',
          '"q\\"1.10\\u0041"',
          'true',
          'null',
        ]
        const items = sent.map((each, n) => `{"id":${n + 1},"near":${each},${many},"far":${each}}`)
        await loadRows(opened, budgets, `[{"budgetId":${id},"costItems":[${items.join(',')}]}]`)
        const held = await texts(opened, 'main.budgets__cost_items', {
          columns: ['_child_key', 'near', 'far'],
          where: `budget_id = ${id}`,
        })
        const expected = sent.map((each, n) => {
          const text = each === 'null' ? null : each.replace('\\u0041', 'A')
          return { _child_key: String(n + 1), near: text, far: text }
        })
        expect(held).toEqual(expected)
      }),
      { numRuns: 15 },
    )
  })

  it('with more than nine digits behind the point is rounded in its column, and its exact text stays in _extra', async () => {
    const [[id]] = numbered(['']) as [readonly [number, string]]
    await loadRows(
      opened,
      budgets,
      `[{"budgetId":${id},"totalAmount":1.23456789012345678},{"budgetId":${id}0000,"totalAmount":1.5}]`,
    )
    expect(
      await texts(opened, 'main.budgets', {
        columns: ['total_amount', '_extra'],
        where: `budget_id IN (${id}, ${id}0000)`,
      }),
    ).toEqual([
      { total_amount: '1.234567890', _extra: '{"totalAmount":1.23456789012345678}' },
      { total_amount: '1.500000000', _extra: null },
    ])
  })

  it.each([
    ['1e3', '1000.000000000'],
    ['1.5E-3', '0.001500000'],
    ['"12.5"', '12.500000000'],
    ['"1e2"', '100.000000000'],
    ['"+1.5e1"', '15.000000000'],
    ['0.0000001', '0.000000100'],
    ['-0', '0.000000000'],
  ])('is understood as %s', { tags: 'long' }, async (sent, held) => {
    const [[id]] = numbered(['']) as [readonly [number, string]]
    expect((await loadRows(opened, budgets, `[{"budgetId":${id},"totalAmount":${sent}}]`)).rejected).toBe(0)
    const [row] = await texts(opened, 'main.budgets', { columns: ['total_amount'], where: `budget_id = ${id}` })
    expect(row).toEqual({ total_amount: held })
  })
})

describe('an integer', () => {
  it.each([
    '9007199254740993',
    '-9007199254740993',
    '9223372036854775807',
    '-9223372036854775808',
    '123456789012345678',
  ])('%s is exact in a key, a documented, a discovered and a child column', async (value) => {
    await loadRows(
      opened,
      enquiries,
      `[{"enquiryId":${value},"status":${value},"room":${value},"taxes":[{"id":${value},"v":${value}}]}]`,
    )
    const where = `enquiry_id = ${value}`
    expect(await texts(opened, 'main.enquiries', { columns: ['status', 'room'], where })).toEqual([
      { status: value, room: value },
    ])
    expect(await texts(opened, 'main.enquiries__taxes', { columns: ['_child_key', 'v'], where })).toEqual([
      { _child_key: value, v: value },
    ])
  })
})
