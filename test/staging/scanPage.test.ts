/** What one scan makes of a response's bytes: rows, keys, kinds, and what can't be taken. */
import { describe, expect, it } from 'vitest'
import { Kind } from '../../src/plan/kinds.ts'
import { MalformedJson } from '../../src/staging/jsonBytes.ts'
import { linesOf, rowsOf, scan, type ScanGiven, valuesOf } from '../support/pages.ts'

const nested = (depth: number): string => `[{"id":1,"v":${'['.repeat(depth)}${']'.repeat(depth)}}]`

const kindsOf = (value: string): number => scan(`[{"id":1,"v":${value}}]`).catalog.field('v')?.kinds ?? -1

function malformedOf(page: string, given?: ScanGiven): MalformedJson {
  try {
    scan(page, given)
  } catch (error) {
    if (error instanceof MalformedJson) return error
    throw error
  }
  throw new TypeError(`${page} was taken`)
}

describe('a page', () => {
  it('is a bare array, or an envelope that says what it knows of itself', () => {
    const bare = scan('[{"id":1},{"id":2}]')
    const envelope = scan('{"pageNumber":2,"items":[{"id":1}],"pageSize":50,"totalCount":120,"links":{"next":[1]}}', {
      answer: 'envelope',
    })
    expect(bare).toMatchObject({ rowCount: 2, keys: [1, 2], stagedRows: 2, envelope: {} })
    expect(envelope).toMatchObject({
      rowCount: 1,
      keys: [1],
      envelope: { pageNumber: 2, pageSize: 50, totalCount: 120 },
    })
  })

  it('may be empty', () => {
    expect(scan('[]')).toMatchObject({ rowCount: 0, stagedRows: 0, keys: [] })
    expect(scan('{"items":[]}', { answer: 'envelope' }).lines(0)).toHaveLength(0)
  })

  it('takes only counts from its envelope that are whole and not negative', () => {
    const page = scan('{"items":[],"pageNumber":"1","pageSize":-5,"totalCount":1.5}', { answer: 'envelope' })
    expect(page.envelope).toEqual({})
  })

  it('may be printed with blanks and line breaks, which never break a staged line', () => {
    const page = scan('\n[\r\n {\t"id" :\n 1 ,\r\n "v": [ 1,\n 2 ] , "w" : { "x" :\n"y" } }\n,\n{ \n }\n]\n ')
    expect(linesOf(page)).toHaveLength(1)
    expect(valuesOf(page)).toEqual([{ id: 1, v: [1, 2], w: { x: 'y' } }])
    expect(page.rejected).toMatchObject([{ row: 1, reason: 'no key: id is missing or null' }])
  })

  it('numbers its rows behind those of the pages before it', () => {
    const lines = scan('[{"id":1},{"id":2}]').lines(3).toString().split('\n')
    expect(lines[1]).toBe(`{"#":${3 * 2 ** 24 + 1},"$":0,"id":2}`)
  })

  it('keeps what long numbers and half characters of its envelope are out of its rows', () => {
    const odd = '12345678901234567890.5'
    const page = scan(`{"a":${odd},"items":[{"id":1},{"id":2}],"b":["\\ud800",${odd}]}`, { answer: 'envelope' })
    expect(linesOf(page)).toEqual(['{"#":0,"$":0,"id":1}', '{"#":1,"$":0,"id":2}'])
  })
})

describe('a row', () => {
  it('has the key that the report declares, as a number, or as its JSON text', () => {
    const page = scan('[{"id":1},{"id":"a"},{"id":123456789012345678},{"id":1.5},{"id":-3},{"id":[1]}]')
    expect(page.keys).toEqual([1, '"a"', '123456789012345678', '1.5', -3, '[1]'])
  })

  it('has the same key if a whole number is sent as text, unless another number would be written so, too', () => {
    const page = scan('[{"id":"17"},{"id":"-3"},{"id":"0"},{"id":"007"},{"id":"-0"},{"id":"1.0"},{"id":" 1"}]')
    expect(page.keys).toEqual([17, -3, 0, '"007"', '"-0"', '"1.0"', '" 1"'])
  })

  it('has the same key of two fields if the fields come in another order', () => {
    const page = scan('[{"a":1,"b":2},{"b":2,"a":1},{"b":1,"a":2},{"a":1,"b":"1"}]', { key: ['a', 'b'] })
    const [first, sameRow, other, third] = page.keys
    expect(sameRow).toBe(first)
    expect(new Set([first, other, third]).size).toBe(3)
  })

  it('without a key is set aside, the others go on', () => {
    const page = scan('[{"id":1},{"x":1},{"id":null},{"id":2}]')
    expect(page).toMatchObject({ rowCount: 4, stagedRows: 2, keys: [1, 2] })
    expect(page.rejected.map(({ row, text }) => [row, text])).toEqual([
      [1, '{"x":1}'],
      [2, '{"id":null}'],
    ])
  })

  it('needs no key where the report has none', () => {
    expect(scan('[{"a":1},{}]', { key: [] })).toMatchObject({ keys: [], stagedRows: 2, rejected: [] })
  })

  it('that is no object is set aside and leaves no trace in its neighbours', () => {
    const page = scan('[{"id":1},12345678901234567890,"\\ud800",[1e5],null,{"id":2}]')
    expect(page.rejected.map(({ reason }) => reason)).toEqual(Array(4).fill('the row is no object'))
    expect(linesOf(page)).toEqual(['{"#":0,"$":0,"id":1}', '{"#":1,"$":0,"id":2}'])
  })

  it('that names a field twice is set aside whole, however the name is spelled', () => {
    const page = scan('[{"id":1,"v":1,"v":2},{"id":2},{"id":3,"v":1,"w":0,"\\u0076":2},{"v":1,"id":4}]')
    expect(page.rejected.map(({ text, reason }) => `${reason}: ${text}`)).toEqual([
      'the field v is there twice: {"id":1,"v":1,"v":2}',
      'the field v is there twice: {"id":3,"v":1,"w":0,"\\u0076":2}',
    ])
    expect(valuesOf(page)).toEqual([{ id: 2 }, { v: 1, id: 4 }])
  })

  it('that names a field twice still says whose row it is, unless it is the key that comes twice', () => {
    const page = scan('[{"id":1,"v":1,"v":2},{"id":2},{"id":3,"id":4}]')
    expect(page.keys).toEqual([1, 2])
    expect(page.rejected.map(({ key }) => key)).toEqual([1, undefined])
  })

  it('may spell a name with escapes: it is the same field', () => {
    const page = scan('[{"id":1,"name":"a"},{"id":2,"\\u006eame":"b"}]')
    expect(page.catalog.fields.map(({ name }) => name)).toEqual(['id', 'name'])
    expect(page.catalog.shapes).toHaveLength(1)
    expect(valuesOf(page)).toEqual([
      { id: 1, name: 'a' },
      { id: 2, name: 'b' },
    ])
  })

  it('has the same shape as another with the same fields in whatever order', () => {
    const page = scan('[{"id":1,"a":1},{"a":2,"id":2},{"id":3}]')
    expect(rowsOf(page).map((row) => row['$'])).toEqual([0, 0, 1])
    expect(page.catalog.shapes).toEqual([['id', 'a'], ['id']])
  })

  it('keeps fields apart whose names differ only in case', () => {
    const page = scan('[{"id":1,"Name":"a","name":"b","NAME":"c"}]')
    const staged = page.catalog.fields.map(({ stagedName }) => stagedName.toLowerCase())
    expect(new Set(staged).size).toBe(4)
    expect(Object.values(rowsOf(page)[0] ?? {})).toEqual([0, 0, 1, 'a', 'b', 'c'])
  })

  it('may have fields named like the two leading numbers, an empty name, or one with a NUL, in any spelling', () => {
    const page = scan('[{"id":1,"#":"hash","$":"dollar","":"none","a\\u0000b":"nul"},{"\\u0023":"other","id":2}]')
    expect(page.catalog.fields.map(({ name }) => name)).toEqual(['id', '#', '$', '', 'a\0b'])
    expect(page.catalog.fields.every(({ stagedName }) => !['#', '$', ''].includes(stagedName))).toBe(true)
    expect(Object.values(rowsOf(page)[0] ?? {})).toEqual([0, 0, 1, 'hash', 'dollar', 'none', 'nul'])
    expect(Object.values(rowsOf(page)[1] ?? {})).toEqual([1, 1, 'other', 2])
  })
})

describe('text', () => {
  it('keeps half a surrogate pair as its escape, in values and in names, and a whole pair as it is', () => {
    const page = scan('[{"id":1,"v":"a\\ud800b","\\uDC00":"\\ud83d\\ude00"},{"id":2,"v":"\\udfff\\ud800","\\uDC00":1}]')
    expect(valuesOf(page)).toEqual([
      { id: 1, v: 'a\\ud800b', '\\uDC00': '😀' },
      { id: 2, v: '\\udfff\\ud800', '\\uDC00': 1 },
    ])
    expect(page.catalog.fields.map(({ name }) => name)).toEqual(['id', 'v', '\\uDC00'])
  })

  it('keeps half a pair in a rejected row as its escape too, so that the row is JSON that any reader takes', () => {
    const page = scan('[{"v":"\\ud800","n":12345678901234567890.5}]')
    expect(page.rejected[0]?.text).toBe('{"v":"\\\\ud800","n":12345678901234567890.5}')
  })

  it('keeps NUL, quotes and controls that are escaped', () => {
    expect(valuesOf(scan(String.raw`[{"id":1,"v":"\u0000\"\\\/\b\f\n\r\t"}]`))).toEqual([
      { id: 1, v: '\0"\\/\b\f\n\r\t' },
    ])
  })

  it('that is no UTF-8 comes as the replacement character', () => {
    const bytes = Buffer.concat([Buffer.from('[{"id":1,"v":"a'), Buffer.from([0xff, 0xc3]), Buffer.from('b"}]')])
    expect(valuesOf(scan(bytes))).toEqual([{ id: 1, v: 'a\ufffd\ufffdb' }])
  })
})

describe('a value', () => {
  it.each<[string, number]>([
    ['null', Kind.null],
    ['true', Kind.boolean],
    ['false', Kind.boolean],
    ['0', Kind.integer],
    ['-7', Kind.integer],
    ['123456789012345', Kind.integer],
    ['1234567890123456', Kind.integer | Kind.long],
    ['9223372036854775807', Kind.integer | Kind.long | Kind.marked],
    ['-9223372036854775808', Kind.integer | Kind.long | Kind.marked],
    ['9223372036854775808', Kind.bigInteger | Kind.long | Kind.marked],
    ['-9223372036854775809', Kind.bigInteger | Kind.long | Kind.marked],
    ['18446744073709551615', Kind.bigInteger | Kind.long | Kind.marked],
    ['1'.repeat(29), Kind.bigInteger | Kind.long | Kind.marked],
    ['1'.repeat(30), Kind.wideDecimal | Kind.long | Kind.marked],
    ['1.5', Kind.decimal],
    ['1.123456789', Kind.decimal],
    ['1.1234567891', Kind.decimal | Kind.wideDecimal],
    ['0.0001', Kind.decimal],
    ['0.00000', Kind.whole],
    ['7.0', Kind.whole],
    ['-0.00001', Kind.decimal | Kind.marked],
    ['0.00000000001', Kind.decimal | Kind.wideDecimal | Kind.marked],
    ['1234567.123456789', Kind.decimal | Kind.long | Kind.marked],
    ['1e3', Kind.exponent | Kind.marked],
    ['1.5e0', Kind.exponent | Kind.decimal | Kind.marked],
    ['1e20', Kind.exponent | Kind.bigInteger | Kind.marked],
    ['-1.5E-10', Kind.exponent | Kind.marked],
    ['1e400', Kind.exponent | Kind.wideDecimal | Kind.marked],
    ['1.2345678901234567e3', Kind.exponent | Kind.wideDecimal | Kind.marked],
    ['"x"', Kind.text],
    ['""', Kind.text],
    ['"2026-01-02"', Kind.text],
    ['"2026-01-02T03:04:05"', Kind.dateTime],
    ['"2026-01-02T03:04:05.1234567Z"', Kind.dateTime],
    ['"2026-01-02T03:04:05+02:00"', Kind.dateTime],
    ['"2026-01-02 03:04:05+02:00"', Kind.text],
    ['"2026-01-02T03:04Z"', Kind.text],
    ['"2026-01-02T03:04:05 room 7"', Kind.text],
    ['"2026-02-30T03:04:05Z"', Kind.text],
    ['"2024-02-29T03:04:05.5"', Kind.dateTime],
    ['"2023-02-29T03:04:05"', Kind.text],
    ['"2026-01-02T24:00:00Z"', Kind.text],
    ['"2026-01-02T03:04:05+0200"', Kind.text],
    ['"2026-01-02T03:04:05."', Kind.text],
    ['"2026-01-02 at noon"', Kind.text],
    ['"20260102"', Kind.text],
    ['[]', Kind.array],
    ['{}', Kind.object],
    ['[1e3]', Kind.array | Kind.marked],
    ['{"a":[12345678901234567890]}', Kind.object | Kind.marked],
  ])('%s is known for what it is', (value, kinds) => {
    expect(kindsOf(value)).toBe(kinds)
  })

  it('adds its kind to those seen before in its field', () => {
    const { catalog } = scan('[{"id":1,"v":1},{"id":2,"v":"x"},{"id":3,"v":null}]')
    expect(catalog.field('v')?.kinds).toBe(Kind.integer | Kind.text | Kind.null)
  })
})

const roomsOf = (context: string): string =>
  JSON.stringify(rowsOf(scan(`[{"id":1,"context":${context}}]`, { collections: ['context'] }))[0]?.['context'])

describe('a collection', () => {
  it('has its elements catalogued: fields, kinds, and what is no object', () => {
    const { catalog } = scan('[{"id":1,"context":[{"id":1,"v":"x"},{"w":2.5},7,"s"]},{"id":2,"context":{"id":9}}]', {
      collections: ['context'],
    })
    const context = catalog.field('context')
    expect(context?.kinds).toBe(Kind.array | Kind.object)
    expect(context?.elements?.fields.map(({ name, kinds }) => [name, kinds])).toEqual([
      ['id', Kind.integer],
      ['v', Kind.text],
      ['w', Kind.decimal],
    ])
    expect(context?.elementKinds).toBe(Kind.integer | Kind.text)
  })

  it('leaves in its row what tells whether it changed', () => {
    expect([roomsOf('null'), roomsOf('[]'), roomsOf('"odd"')]).toEqual(['null', '[]', '"odd"'])
    expect(roomsOf('[{"id":1}]')).toMatch(/^\[\d+,\d+\]$/)
    expect(roomsOf('{"id":1}')).toMatch(/^\{"~":\[\d+,\d+\]\}$/)
    expect(roomsOf('[{"id":1}]')).toBe(roomsOf('[{"id":1}]'))
    expect(roomsOf('[{"id":1}]')).not.toBe(roomsOf('[{"id":2}]'))
  })
})

describe('bytes that are no page', () => {
  it.each([
    '',
    '<html>',
    'nul',
    '{}',
    '{"items":[]}',
    '[1,]',
    '[{"id":1},]',
    '[{"id":1,}]',
    '[{id:1}]',
    '[{"id":01}]',
    '[{"id":+1}]',
    '[{"id":.5}]',
    '[{"id":1.}]',
    '[{"id":1e}]',
    '[{"id":-}]',
    '[{"id":NaN}]',
    '[{"id":1 "b":2}]',
    '[{"id":1}]x',
    '[{"id":1}][]',
    '[{"id":"\\x"}]',
    '[{"id":"\\u00g0"}]',
    '[{"id":"a\nb"}]',
    '[{"id":[1 2]}]',
    '[{"id":[1,]}]',
    '[{"id":{"a":1,}}]',
    "[{'id':1}]",
    '[{"id":trueish}]',
  ])('%j is refused', (page) => {
    expect(malformedOf(page)).toBeInstanceOf(MalformedJson)
  })

  it.each(['[]', '{}', '{"items":{}}', '{"items":null}', '{"items":[],}', '{"rows":[]}', '{"items":[]} {}'])(
    '%j is no envelope',
    (page) => {
      expect(malformedOf(page, { answer: 'envelope' }).isCut).toBe(false)
    },
  )

  it('may write no items as null where they tell a total, in any order', () => {
    for (const page of ['{"items":null,"totalCount":0}', '{"totalCount":7,"items": null ,"pageNumber":3}'])
      expect(scan(page, { answer: 'envelope' })).toMatchObject({ rowCount: 0, keys: [] })
    expect(malformedOf('{"items":null,"totalCount":null}', { answer: 'envelope' }).position).toBe(9)
    expect(malformedOf('{"items":nil,"totalCount":0}', { answer: 'envelope' })).toBeInstanceOf(MalformedJson)
  })

  it('say where they stop being one', () => {
    expect(malformedOf('[{"id":1},x]')).toMatchObject({ position: 10, size: 12, isCut: false })
    expect(malformedOf('[{"id":1}')).toMatchObject({ position: 9, size: 9, isCut: true })
  })

  it('may be nested up to a limit, and no deeper', () => {
    expect(scan(nested(190)).rowCount).toBe(1)
    expect(malformedOf(nested(300)).message).toContain('levels of nesting')
    expect(malformedOf(nested(100_000)).message).toContain('levels of nesting')
  })
})
