/** The items of a page's collections: one line each, with what their fields hold, and what is known of their ids. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { digestOf } from '../../src/staging/digest.ts'
import { writeDigits } from '../../src/staging/bytes.ts'
import { scan } from '../support/pages.ts'

const collectionOf = (rows: string, pageIndex = 0) => {
  const page = scan(`[${rows}]`, { collections: ['context', 'notes'] })
  const context = page.collections.find(({ field }) => field === 'context')
  const lines = context?.lines(pageIndex).toString('utf8').split('\n').slice(0, -1) ?? []
  return { page, ids: context?.ids, rows: context?.rows, items: lines.map((line) => line.split('\t')) }
}

/** Items without the ordinal. */
const itemsOf = (context: string) => collectionOf(`{"id":1,"context":${context}}`).items.map(([, ...rest]) => rest)

/** Of a row on the page with the index 3. */
const ordinal = (row: number): string => String(3 * 2 ** 24 + row).padStart(16, '0')

describe('an item', () => {
  it('has the ordinal of its row and its position', () => {
    const { items, rows } = collectionOf('{"id":1,"context":[{"a":1},{"a":2}]},{"id":2},{"id":3,"context":{"a":3}}', 3)
    expect(rows).toBe(3)
    expect(items).toEqual([
      [ordinal(0), '0', '{"a":1}', '1'],
      [ordinal(0), '1', '{"a":2}', '2'],
      [ordinal(2), '0', '{"a":3}', '3'],
    ])
  })

  it('stands as it came, followed by what its fields hold: texts bare, numbers with all digits, nested values whole', () => {
    const item = '{"t":"x y","n":12345678901234567.1234567890,"e":1e400,"o":{"k":[1]},"b":false}'
    expect(itemsOf(`[${item}]`)).toEqual([
      ['0', item, 'x y', '12345678901234567.1234567890', '1e400', '{"k":[1]}', 'false'],
    ])
  })

  it('keeps a text with escapes in its quotes, and an empty one apart from none', () => {
    expect(itemsOf(String.raw`[{"a":"tab\t\"q\"","b":"","c":null,"d":1},{"d":2}]`)).toEqual([
      ['0', String.raw`{"a":"tab\t\"q\"","b":"","c":null,"d":1}`, String.raw`"tab\t\"q\""`, '', '\\N', '1'],
      ['1', '{"d":2}', '\\N', '\\N', '\\N', '2'],
    ])
  })

  it('holds no tab and no line break, however the page is printed', () => {
    expect(itemsOf('[\n{\t"a"\n:\r\n[1,\t2]\t}]')).toEqual([['0', '{ "a" :  [1, 2] }', '[1, 2]']])
  })

  it('keeps half a character as its escape', () => {
    expect(itemsOf(String.raw`[{"\ud800":"\ud800"}]`)).toEqual([
      ['0', String.raw`{"\\ud800":"\\ud800"}`, String.raw`"\\ud800"`],
    ])
  })

  it('may be no object', () => {
    expect(itemsOf('[7,{"a":1},"x"]')).toEqual([
      ['0', '7'],
      ['1', '{"a":1}', '1'],
      ['2', '"x"'],
    ])
  })

  it('gives the value that stands first where it names a field twice', () => {
    expect(itemsOf('[{"a":1,"a":2}]')).toEqual([['0', '{"a":1,"a":2}', '1']])
  })

  it('has columns for no more than 128 fields', () => {
    const fields = Array.from({ length: 200 }, (_, n) => `"f${n}":${n}`)
    expect(itemsOf(`[{${fields.join(',')}}]`)[0]).toHaveLength(2 + 128)
  })

  it('goes with its row when that is set aside, and the row keeps it', () => {
    const { page, items } = collectionOf(
      String.raw`{"context":[{"a":"\ud800"}],"notes":[1]},{"id":2,"context":[{"a":5}]}`,
    )
    expect(items.map(([, , sent]) => sent)).toEqual(['{"a":5}'])
    expect(page.collections.map(({ field }) => field)).toEqual(['context'])
    expect(page.rejected[0]?.text).toBe(String.raw`{"context":[{"a":"\\ud800"}],"notes":[1]}`)
  })
})

describe('the ids of items', () => {
  it.each([
    ['none', '[{"a":1},{"id":null},3]'],
    ['unique', '[{"id":1},{"id":2}]'],
    ['unsure', '[{"id":1},{"id":1}]'],
    ['unsure', '[{"id":1},{"a":1}]'],
    ['unsure', '[{"id":1},{"id":"1"}]'],
    ['unsure', '[{"id":1.5},{"id":2}]'],
    ['unsure', '[{"id":123456789012345678},{"id":2}]'],
    ['unique', `[${Array.from({ length: 40 }, (_, n) => `{"id":${n}}`).join(',')}]`],
    ['unsure', `[${Array.from({ length: 40 }, (_, n) => `{"id":${n % 39}}`).join(',')}]`],
  ])('are %s in %s', (ids, context) => {
    expect(collectionOf(`{"id":1,"context":${context}}`).ids).toBe(ids)
  })

  it('may stand again in another row', () => {
    expect(collectionOf('{"id":1,"context":[{"id":1}]},{"id":2,"context":[{"id":1}]}').ids).toBe('unique')
  })
})

const viewOf = (bytes: Buffer) => new DataView(bytes.buffer, bytes.byteOffset, bytes.length)

describe('a fingerprint', () => {
  it('differs where one byte differs, wherever the bytes stand', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 40 }), fc.nat(39), fc.nat(7), (bytes, at, shift) => {
        const text = Buffer.from(bytes)
        const digest = digestOf(viewOf(text), 0, text.length)
        const moved = Buffer.concat([Buffer.alloc(shift), text])
        expect(digestOf(viewOf(moved), shift, shift + text.length)).toEqual(digest)
        const other = Buffer.from(text)
        other[at % text.length] = (other[at % text.length] as number) ^ 1
        expect(digestOf(viewOf(other), 0, other.length)).not.toEqual(digest)
      }),
    )
  })
})

describe('digits', () => {
  it('are those of the number', () => {
    fc.assert(
      fc.property(fc.oneof(fc.maxSafeNat(), fc.nat()), (value) => {
        const out = Buffer.alloc(20)
        expect(out.toString('latin1', 0, writeDigits(out, 0, value))).toBe(String(value))
      }),
    )
  })
})
