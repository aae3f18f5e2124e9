/** Properties of a scan, held against JSON.parse: nothing is lost, nothing invented, nothing cut taken for whole. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { has, Kind } from '../../src/plan/kinds.ts'
import { MalformedJson } from '../../src/staging/jsonBytes.ts'
import { linesOf, rowsOf, scan, valuesOf } from '../support/pages.ts'

/**
 * JavaScript has its own ideas of a key named __proto__, and half pairs are respelled; both have tests of their own.
 */
const isPlain = (value: unknown): boolean => {
  const text = JSON.stringify(value)
  return !text.includes('__proto__') && !/\\u[dD][89a-fA-F]/.test(text) && !text.includes('~mark~')
}

const aKey = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 6 }),
  fc.constantFrom('Name', 'name', 'NAME', 'a/b~c', 'é'),
)
const aValue = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constant(null),
    fc.boolean(),
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.string({ unit: 'binary', maxLength: 8 }),
    fc.constantFrom('2026-01-02', '2026-01-02T03:04:05Z', '', '\0', '"\\/'),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(aKey, tie('value'), { maxKeys: 4 }),
  ),
})).value
const aRow = fc
  .dictionary(aKey, aValue, { maxKeys: 6 })
  .map((row) => Object.fromEntries(Object.entries(row).filter(([name]) => name !== 'id')))
  .filter((row) => isPlain(row))

const KIND_OF: Record<string, number> = {
  boolean: Kind.boolean,
  number: Kind.integer | Kind.decimal | Kind.whole | Kind.wideDecimal | Kind.exponent | Kind.bigInteger | Kind.long,
  string: Kind.text | Kind.dateTime,
}

const kindOf = (value: unknown): number => {
  if (value === null) return Kind.null
  if (Array.isArray(value)) return Kind.array
  return KIND_OF[typeof value] ?? Kind.object
}

const digits = (max: number) => fc.stringMatching(new RegExp(`^[0-9]{1,${max}}$`))

describe('a scan', () => {
  it('stages exactly the rows that JSON.parse sees', () => {
    fc.assert(
      fc.property(fc.array(aRow, { maxLength: 5 }), fc.constantFrom(undefined, 1, '\t'), (rows, indent) => {
        const numbered = rows.map((row, id) => ({ ...row, id }))
        const page = JSON.stringify(numbered, undefined, indent)
        const scanned = scan(page)
        expect(scanned.rejected).toEqual([])
        // Through the text, since JSON knows no negative zero and JavaScript does.
        expect(JSON.stringify(valuesOf(scanned))).toBe(JSON.stringify(JSON.parse(page)))
        expect(rowsOf(scanned).map((row) => row['#'])).toEqual(numbered.map((_, n) => n))
        expect(scanned.keys).toEqual(numbered.map(({ id }) => id))
      }),
      { numRuns: 400 },
    )
  })

  it('knows each field, its kinds and the shape of each row', () => {
    fc.assert(
      fc.property(fc.array(aRow, { maxLength: 5 }), (rows) => {
        const numbered = rows.map((row, id) => ({ ...row, id }))
        const { catalog, ...page } = scan(JSON.stringify(numbered))
        const shapes = rowsOf(page).map((row) => catalog.shapes[Number(row['$'])])
        expect(shapes.map((shape) => shape?.toSorted())).toEqual(numbered.map((row) => Object.keys(row).toSorted()))
        for (const row of numbered) {
          for (const [name, value] of Object.entries(row)) {
            expect(has(catalog.field(name)?.kinds ?? 0, kindOf(value)), `${name} is ${JSON.stringify(value)}`).toBe(
              true,
            )
          }
        }
      }),
    )
  })

  it('marks exactly the numbers that a double may not hold', () => {
    const whole = fc.oneof(
      digits(30).map((text) => text.replace(/^0+(?=.)/, '')),
      fc.constantFrom('9007199254740993', '9223372036854775807', '9223372036854775808', '18446744073709551615'),
    )
    const number = fc
      .tuple(
        fc.constantFrom('', '-'),
        whole,
        fc.option(digits(20)),
        fc.option(fc.tuple(fc.constantFrom('e', 'E+', 'e-'), digits(3))),
      )
      .map(
        ([sign, int, fraction, exponent]) =>
          `${sign}${int}${fraction === null ? '' : `.${fraction}`}${exponent?.join('') ?? ''}`,
      )
    fc.assert(
      fc.property(number, (text) => {
        const page = scan(`[{"id":1,"v":${text},"w":[${text}]}]`)
        const [line] = linesOf(page)
        const isMarked = line?.includes('~mark~') ?? false
        const isWhole = /^-?\d+$/.test(text)
        // DuckDB reads whole numbers of 64 bits as they are; everything else goes through a double.
        if (!isMarked) expect(isWhole ? BigInt(text) < 10n ** 18n : text.replaceAll(/\D/g, '').length <= 15).toBe(true)
        else expect(text).toMatch(/[eE]|\d[\d.]{15}/)
        expect(line).toBe(
          `{"#":0,"$":0,"id":1,"v":${isMarked ? `"~mark~${text}"` : text},"w":[${isMarked ? `"~mark~${text}"` : text}]}`,
        )
      }),
      { numRuns: 500 },
    )
  })

  it('takes no proper beginning of a page for a page, and knows that it was cut', () => {
    const rows =
      '[{"id":1,"a":"x\\u00e9\\ud83d\\ude00\\n","b":[true,false,null,-1.5e-3],"c":{"d":{}}},{"id":12345678901234567890,"é":[]}, 5]'
    const envelope = `{"pageNumber":1,"items":${rows},"totalCount":3}`
    for (const [page, answer] of [
      [rows, 'array'],
      [envelope, 'envelope'],
    ] as const) {
      const bytes = Buffer.from(page)
      expect(scan(bytes, { answer }).rowCount).toBe(3)
      for (let length = 0; length < bytes.length; length += 1) {
        let thrown: unknown
        try {
          scan(bytes.subarray(0, length), { answer })
        } catch (error) {
          thrown = error
        }
        expect(thrown, `the first ${length} bytes`).toBeInstanceOf(MalformedJson)
        expect((thrown as MalformedJson).isCut, `the first ${length} bytes: ${(thrown as MalformedJson).message}`).toBe(
          true,
        )
      }
    }
  })

  it('refuses what JSON.parse refuses, and takes what it takes, wherever a byte of a page is another one', () => {
    const page = '[{"id":1,"a":"b\\n","c":[1.5,{"d":null}],"e":-1e3},{"id":2}]'
    fc.assert(
      fc.property(fc.nat(page.length - 1), fc.constantFrom(...Array.from('{}[]",:\\0a.-e \nt')), (at, letter) => {
        const changed = page.slice(0, at) + letter + page.slice(at + 1)
        let parsed: unknown
        try {
          parsed = JSON.parse(changed)
        } catch {
          expect(() => scan(changed)).toThrow(MalformedJson)
          return
        }
        if (Array.isArray(parsed)) expect(scan(changed).rowCount).toBe(parsed.length)
        else expect(() => scan(changed)).toThrow(MalformedJson)
      }),
      { numRuns: 2_000 },
    )
  })

  it('goes on in one catalogue over many pages', () => {
    fc.assert(
      fc.property(fc.array(fc.array(aRow, { maxLength: 3 }), { minLength: 1, maxLength: 4 }), (pages) => {
        let { catalog } = scan('[]')
        const seen = new Set<string>()
        for (const rows of pages) {
          const numbered = rows.map((row, id) => ({ ...row, id }))
          const scanned = scan(JSON.stringify(numbered), { catalog })
          catalog = scanned.catalog
          for (const row of numbered) for (const name of Object.keys(row)) seen.add(name)
        }
        expect(new Set(catalog.fields.map(({ name }) => name))).toEqual(seen)
      }),
    )
  })

  it('keeps fields and shapes when it drops a trie that has grown too large', () => {
    const rows = Array.from({ length: 25_000 }, (_, id) => ({ id, [`field ${id}`]: 1 }))
    const { catalog } = scan(JSON.stringify(rows))
    scan('[{"id":1,"field 3":2}]', { catalog })
    expect(catalog.fields).toHaveLength(25_001)
    expect(catalog.shapes).toHaveLength(25_000)
  })
})
