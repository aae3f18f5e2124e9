/** Replaces private values before any other code reads the page, so that they are never stored. */
import { createHmac } from 'node:crypto'
import { type ActiveRule, itemRulesOf, type ObjectRules, type RowRules, ruleOf, WITHHELD } from '../plan/privacy.ts'
import { PAGES, type PageNames } from '../../schema/report.ts'
import type { Secret } from '../secret.ts'
import { CLOSE_ARRAY, CLOSE_OBJECT, LETTER_N, OPEN_ARRAY, OPEN_OBJECT, QUOTE } from './bytes.ts'
import { copySpliced, JsonBytes, type Splice, insertedBytesMax } from './jsonBytes.ts'

export interface PrivacyPlan {
  readonly answer: 'envelope' | 'array'
  readonly pages?: PageNames
  readonly rules: RowRules
  readonly hashKey: Secret | undefined
}

const NULL = Buffer.from('null')
const REMEMBERED_MAX = 10_000
const KEY_PRINT_LENGTH = 16

/** Returns the hash that tables store instead of a private value. */
export const keyedHash = (value: string, key: Secret): string =>
  createHmac('sha256', key.reveal()).update(value, 'utf8').digest('hex')

/** Returns a short hash that identifies the key but does not reveal it. */
export const keyPrint = (key: Secret | undefined): string | undefined =>
  key === undefined ? undefined : keyedHash('tidemark hash key', key).slice(0, KEY_PRINT_LENGTH)

export class PrivatePages {
  readonly #plan: PrivacyPlan
  readonly #hashes = new Map<string, Buffer>()
  #json!: JsonBytes
  #edits: Splice[] = []

  constructor(plan: PrivacyPlan) {
    this.#plan = plan
  }

  /** Returns the page without private values. Throws `MalformedJson` for invalid JSON. */
  withoutPrivateValues(bytes: Buffer): Buffer {
    const json = new JsonBytes(bytes, '')
    this.#json = json
    this.#edits = []
    const start = json.skipSpace(0)
    if (this.#plan.answer === 'array') this.#elements(start, (at) => this.#row(at))
    else if (bytes[start] === OPEN_OBJECT) {
      this.#members(start, (name, at) =>
        name === (this.#plan.pages ?? PAGES).items ? this.#elements(at, (item) => this.#row(item)) : json.value(at),
      )
    }
    const edits = this.#edits
    if (edits.length === 0) return bytes
    const out = Buffer.allocUnsafe(bytes.length + insertedBytesMax(edits))
    return out.subarray(0, copySpliced({ bytes, from: 0, to: bytes.length }, { out, end: 0 }, edits))
  }

  #row(at: number): number {
    const { rules } = this.#plan
    if (this.#json.bytes[at] !== OPEN_OBJECT) return this.#withhold(at)
    return this.#members(at, (name, value) => {
      const rule = ruleOf(rules.row, name)
      if (rule !== undefined) return this.#apply(rule, value)
      const collection = itemRulesOf(rules, name)
      if (collection !== undefined) return this.#collection(collection, value)
      const isNested = this.#json.bytes[value] === OPEN_OBJECT || this.#json.bytes[value] === OPEN_ARRAY
      return isNested && rules.nested?.has(name) === false ? this.#apply('drop', value) : this.#json.value(value, 1)
    })
  }

  #collection(rules: ObjectRules, at: number): number {
    if (this.#json.bytes[at] === OPEN_OBJECT) return this.#item(rules, at)
    if (this.#json.bytes[at] === OPEN_ARRAY) return this.#elements(at, (item) => this.#item(rules, item))
    return this.#apply('drop', at)
  }

  /** Privacy rules name fields of objects, so any other item is replaced as a whole. */
  #item(rules: ObjectRules, at: number): number {
    if (this.#json.bytes[at] !== OPEN_OBJECT)
      return this.#json.bytes[at] === LETTER_N ? this.#json.value(at) : this.#withhold(at)
    return this.#members(at, (name, value) => {
      const rule = ruleOf(rules, name)
      return rule === undefined ? this.#json.value(value, 2) : this.#apply(rule, value)
    })
  }

  /** A null reveals nothing, so it is kept. */
  #apply(rule: ActiveRule, at: number): number {
    const { bytes } = this.#json
    const end = this.#json.value(at, 1)
    if (bytes[at] === LETTER_N) return end
    const written = bytes.toString('utf8', at, end)
    const original = () => (bytes[at] === QUOTE ? (JSON.parse(written) as string) : written)
    this.#edits.push({ at, remove: end - at, insert: rule === 'drop' ? NULL : this.#hash(original()) })
    return end
  }

  #hash(value: string): Buffer {
    const known = this.#hashes.get(value)
    if (known !== undefined) return known
    const { hashKey } = this.#plan
    const hash = hashKey === undefined ? NULL : Buffer.from(`"${keyedHash(value, hashKey)}"`)
    if (this.#hashes.size >= REMEMBERED_MAX) this.#hashes.clear()
    this.#hashes.set(value, hash)
    return hash
  }

  #withhold(at: number): number {
    const end = this.#json.value(at, 1)
    const insert = Buffer.from(`"${WITHHELD}columns: ${end - at} bytes that are no object"`)
    this.#edits.push({ at, remove: end - at, insert })
    return end
  }

  #members(at: number, take: (name: string, value: number) => number): number {
    const json = this.#json
    let i = json.skipSpace(at + 1)
    while (this.#json.bytes[i] !== CLOSE_OBJECT) {
      const nameEnd = json.string(i)
      const name = JSON.parse(this.#json.bytes.toString('utf8', i, nameEnd)) as string
      i = json.next(take(name, json.colon(nameEnd)), CLOSE_OBJECT, 'an object')
    }
    return i + 1
  }

  #elements(at: number, take: (at: number) => number): number {
    const json = this.#json
    if (this.#json.bytes[at] !== OPEN_ARRAY) return json.value(at)
    let i = json.skipSpace(at + 1)
    while (this.#json.bytes[i] !== CLOSE_ARRAY) i = json.next(take(i), CLOSE_ARRAY, 'an array')
    return i + 1
  }
}
