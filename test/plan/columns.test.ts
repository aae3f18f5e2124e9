/** Column types grow with what is seen and never shrink; names are free, safe and stable (product contract §4). */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { DuckType } from '../../schema/tables.ts'
import { changesFor, DISCOVERED_COLUMNS_MAX, type DiscoveredColumn, typeFor, widened } from '../../src/plan/columns.ts'
import { Kind, type Kinds, NESTED, SCALARS } from '../../src/plan/kinds.ts'

const BITS = Object.values(Kind)
const someKinds = fc.subarray(BITS).map((bits) => bits.reduce<Kinds>((mask, bit) => mask | bit, 0))

const TYPES: readonly DuckType[] = [
  'BOOLEAN',
  'BIGINT',
  'DECIMAL(38,9)',
  'DOUBLE',
  'DATE',
  'TIMESTAMPTZ',
  'VARCHAR',
  'JSON',
]

describe('a type', () => {
  it.each<[string, Kinds, DuckType | undefined]>([
    ['nothing', 0, undefined],
    ['nulls', Kind.null, undefined],
    ['nested values alone', Kind.array | Kind.object | Kind.null, undefined],
    ['booleans', Kind.boolean | Kind.null, 'BOOLEAN'],
    ['integers', Kind.integer, 'BIGINT'],
    ['long integers', Kind.integer | Kind.long | Kind.marked, 'BIGINT'],
    ['integers and decimals', Kind.integer | Kind.decimal, 'DECIMAL(38,9)'],
    ['integers beyond 64 bits', Kind.bigInteger | Kind.long | Kind.marked, 'DECIMAL(38,9)'],
    ['decimals that do not fit', Kind.wideDecimal | Kind.decimal, 'VARCHAR'],
    ['exponents that a double holds', Kind.exponent | Kind.integer | Kind.marked, 'DOUBLE'],
    ['exponents beside long numbers', Kind.exponent | Kind.integer | Kind.long, 'VARCHAR'],
    ['exponents that no double holds', Kind.exponent | Kind.wideDecimal | Kind.marked, 'VARCHAR'],
    ['whole numbers with a fraction', Kind.integer | Kind.whole, 'DECIMAL(38,9)'],
    ['date-times', Kind.dateTime | Kind.null, 'TIMESTAMPTZ'],
    ['date-times and texts', Kind.dateTime | Kind.text, 'VARCHAR'],
    ['booleans and integers', Kind.boolean | Kind.integer, 'VARCHAR'],
    ['scalars and nested values', Kind.integer | Kind.object, 'BIGINT'],
  ])('for %s is found', (_, kinds, type) => {
    expect(typeFor(kinds)).toBe(type)
  })

  it('is JSON for what is nested where columns may nest', () => {
    expect(typeFor(Kind.integer | Kind.object, 'column')).toBe('JSON')
    expect(typeFor(Kind.integer, 'column')).toBe('BIGINT')
  })
})

describe('widening', () => {
  it('is only from integers to decimals', () => {
    fc.assert(
      fc.property(fc.constantFrom(...TYPES), someKinds, (type, kinds) => {
        const wide = widened(type, kinds)
        if (wide !== type) expect([type, wide]).toEqual(['BIGINT', 'DECIMAL(38,9)'])
        expect(widened(wide, kinds)).toBe(wide)
      }),
      { numRuns: 500 },
    )
    expect(widened('BIGINT', Kind.decimal | Kind.text)).toBe('DECIMAL(38,9)')
    expect(widened('BIGINT', Kind.bigInteger)).toBe('DECIMAL(38,9)')
    expect(widened('BIGINT', Kind.whole | Kind.exponent | Kind.text)).toBe('BIGINT')
  })

  it('by nulls alone is none', () => {
    for (const type of TYPES) expect(widened(type, Kind.null)).toBe(type)
  })
})

describe('changes', () => {
  const none = { columns: [], taken: ['id', 'is_deleted'], nested: 'extra' } as const
  const reserved = ['rowid', '_change', '_valid_from', '_valid_to']
  const aField = fc.record({
    name: fc.oneof(
      fc.string({ unit: 'binary', maxLength: 8 }),
      fc.constantFrom('id', 'ID', 'rowid', '$change', '_validFrom', '_valid_to', 'isDeleted', 'aB', 'a_b', '1', ''),
    ),
    kinds: someKinds,
  })
  const someFields = fc.uniqueArray(aField, { selector: ({ name }) => name, maxLength: 20 })

  it('give every scalar field one column with a name of its own that nothing else has', () => {
    fc.assert(
      fc.property(someFields, (fields) => {
        const added = changesFor(fields, none).flatMap((change) => (change.change === 'added' ? [change.column] : []))
        expect(added.map(({ field }) => field)).toEqual(
          fields.filter(({ kinds }) => (kinds & SCALARS) !== 0).map(({ name }) => name),
        )
        const names = added.map(({ name }) => name)
        expect(new Set([...names, ...none.taken, ...reserved]).size).toBe(names.length + 6)
        for (const name of names) expect(name).toMatch(/^[a-z_][a-z0-9_]*$/)
      }),
      { numRuns: 300 },
    )
  })

  it('are none for what is known already', () => {
    fc.assert(
      fc.property(someFields, fc.constantFrom('column', 'extra'), (fields, nested) => {
        const columns = changesFor(fields, { ...none, nested }).flatMap((change) =>
          change.change === 'added' ? [change.column] : [],
        )
        expect(changesFor(fields, { ...none, nested, columns })).toEqual([])
      }),
    )
  })

  it('stop at the limit, and tell each field that has to stay outside', () => {
    const columns = Array.from(
      { length: DISCOVERED_COLUMNS_MAX - 1 },
      (_, n): DiscoveredColumn => ({ field: `f${n}`, name: `f${n}`, type: 'BIGINT' }),
    )
    const fields = ['x', 'y', 'f0'].map((name) => ({ name, kinds: Kind.decimal }))
    expect(changesFor(fields, { ...none, columns })).toEqual([
      { change: 'added', column: { field: 'x', name: 'x', type: 'DECIMAL(38,9)' } },
      { change: 'limit', field: 'y' },
      { change: 'widened', column: { field: 'f0', name: 'f0', type: 'DECIMAL(38,9)' }, from: 'BIGINT' },
    ])
  })

  it('leave what is nested to _extra', () => {
    expect(changesFor([{ name: 'x', kinds: NESTED | Kind.null }], none)).toEqual([])
  })
})
