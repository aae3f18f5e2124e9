/**
 * The `bad-rows` fault: what a faulty service might put into a row. Which damage a row gets depends on its key, so that
 * reading it again gives the same.
 */
import type { RowModel } from './rows/model.ts'
import type { RawFields } from './rowTexts.ts'

type Damage = (model: RowModel) => RawFields

/** An empty raw text leaves the field out; text that goes on after the value adds a second member of the same name. */
const DAMAGES: readonly Damage[] = [
  (model) => ({ [model.keyField]: '' }),
  (model) => ({ [model.keyField]: '"not a number"' }),
  (model) => ({ [plainField(model)]: '{"unexpected":"object"}' }),
  (model) => ({ [plainField(model)]: '"NUL \\u0000 inside"' }),
  (model) => ({ [plainField(model)]: '"lone \\ud800 surrogate"' }),
  (model) => ({ [plainField(model)]: `"first","${plainField(model)}":"second"` }),
  (model) => ({ [model.fields[2] as string]: '1e400' }),
  (model) => ({ [model.fields[2] as string]: '"2025-02-30T25:61:00Z"' }),
  () => ({ surprise: '123456789012345678901234567890.123456789' }),
]

const plainField = (model: RowModel): string => model.fields[1] as string

export const damageFor = (model: RowModel, row: number): RawFields => DAMAGES[row % DAMAGES.length]?.(model) ?? {}
