/** Column types grow with what is seen and never shrink; names are free, safe and stable (product contract §4). */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { DuckType } from '../../schema/tables.ts'
import { changesFor, DISCOVERED_COLUMNS_MAX, type DiscoveredColumn, typeFor, widened } from '../../src/plan/columns.ts'
import { Kind, type Kinds, NESTED, SCALARS } from '../../src/plan/kinds.ts'

const BITS = Object.values(Kind)
const someKinds = fc.subarray(BITS).map((bits) => bits.reduce<Kinds>((mask, bit) => mask | bit, 0))

/** Which types hold all that another holds: each is below the ones behind it. */
const ABOVE: Record<string, readonly DuckType[]> = {
  BOOLEAN: ['VARCHAR', 'JSON'],
  BIGINT: ['DECIMAL(38,9)', 'VARCHAR', 'JSON'],
  'DECIMAL(38,9)': ['VARCHAR', 'JSON'],
  DOUBLE: ['VARCHAR', 'JSON'],
  DATE: ['TIMESTAMPTZ', 'VARCHAR', 'JSON'],
  TIMESTAMPTZ: ['VARCHAR', 'JSON'],
  VARCHAR: ['JSON'],
  JSON: [],
}
const TYPES = Object.keys(ABOVE) as DuckType[]
const atLeast = (type: DuckType, other: DuckType): boolean => type === other || (ABOVE[other] ?? []).includes(type)

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
    ['dates', Kind.date, 'DATE'],
    ['dates and date-times', Kind.date | Kind.dateTime, 'TIMESTAMPTZ'],
    ['dates and texts', Kind.date | Kind.text, 'VARCHAR'],
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
  it('never narrows, changes nothing twice, and holds what was seen', () => {
    fc.assert(
      fc.property(fc.constantFrom(...TYPES), someKinds, fc.constantFrom('column', 'extra'), (type, kinds, nested) => {
        const wide = widened(type, kinds, nested)
        expect(atLeast(wide, type), `${type} → ${wide}`).toBe(true)
        expect(widened(wide, kinds, nested)).toBe(wide)
        const alone = typeFor(kinds, nested)
        // A DOUBLE holds short numbers just as exactly as their own types do.
        const isShort = wide === 'DOUBLE' && (kinds & (Kind.long | Kind.bigInteger | Kind.wideDecimal)) === 0
        if (alone !== undefined)
          expect(atLeast(wide, alone) || isShort || wide === 'VARCHAR', `${wide} holds ${alone}`).toBe(true)
      }),
      { numRuns: 1_000 },
    )
  })

  it('comes to the same or a wider type in whatever order kinds are seen, never to one that lacks some', () => {
    fc.assert(
      fc.property(fc.array(someKinds, { minLength: 1, maxLength: 5 }), (sequence) => {
        const all = sequence.reduce((mask, kinds) => mask | kinds, 0)
        let type: DuckType | undefined
        for (const kinds of sequence) type = type === undefined ? typeFor(kinds) : widened(type, kinds)
        const together = typeFor(all)
        if (together === undefined) expect(type).toBeUndefined()
        else expect(type !== undefined && atLeast(type, together), `${type} for ${together}`).toBe(true)
      }),
      { numRuns: 1_000 },
    )
  })

  it('by nulls alone is none', () => {
    for (const type of TYPES) expect(widened(type, Kind.null)).toBe(type)
  })
})

describe('changes', () => {
  const none = { columns: [], taken: ['id', 'is_deleted'], nested: 'extra' } as const
  const reserved = ['rowid', '_valid_from', '_valid_to']
  const aField = fc.record({
    name: fc.oneof(
      fc.string({ unit: 'binary', maxLength: 8 }),
      fc.constantFrom('id', 'ID', 'rowid', '_validFrom', '_valid_to', 'isDeleted', 'aB', 'a_b', '1', ''),
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
        expect(new Set([...names, ...none.taken, ...reserved]).size).toBe(names.length + 5)
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
    const fields = ['x', 'y', 'f0'].map((name) => ({ name, kinds: Kind.text }))
    expect(changesFor(fields, { ...none, columns })).toEqual([
      { change: 'added', column: { field: 'x', name: 'x', type: 'VARCHAR' } },
      { change: 'limit', field: 'y' },
      { change: 'widened', column: { field: 'f0', name: 'f0', type: 'VARCHAR' }, from: 'BIGINT' },
    ])
  })

  it('leave what is nested to _extra', () => {
    expect(changesFor([{ name: 'x', kinds: NESTED | Kind.null }], none)).toEqual([])
  })
})
