/** How JSON's bytes are walked over. */
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { JsonBytes } from '../../src/staging/jsonBytes.ts'

/** The bytes, and the highest place at which anybody looked. */
function watched(text: string): { readonly bytes: Buffer; readonly highest: () => number } {
  const buffer = Buffer.from(text)
  let highest = -1
  const bytes = new Proxy(buffer, {
    get: (target, key) => {
      const place = typeof key === 'string' ? Number(key) : Number.NaN
      if (Number.isInteger(place)) highest = Math.max(highest, place)
      const value: unknown = Reflect.get(target, key, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  return { bytes, highest: () => highest }
}

const blanks = fc.stringMatching(/^[ \t\r\n]{0,3}$/)
const rows = fc.array(fc.dictionary(fc.string(), fc.jsonValue()))

it('nobody looks behind the last byte of a page: the engine would read it slowly from there on', {
  tags: 'long',
}, () => {
  fc.assert(
    fc.property(rows, fc.nat(2), blanks, (page, indent, behind) => {
      const text = JSON.stringify(page, undefined, indent) + behind
      const { bytes, highest } = watched(text)
      const json = new JsonBytes(bytes, '~')
      expect(json.skipSpace(json.value(0))).toBe(bytes.length)
      expect(highest()).toBe(bytes.length - 1)
    }),
  )
})
