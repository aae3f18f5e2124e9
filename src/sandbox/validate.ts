/** Validates a request body (spec §4) and lists errors by property (§7). */
import { isCurrency } from './money.ts'
import type { ParameterType } from './reports/definition.ts'
import type { NamedEndpoint } from './reports/index.ts'
import { parseTicks } from './ticks.ts'

export type PropertyErrors = Record<string, string[]>

export type Body = Readonly<Record<string, unknown>>

type Integer = number | bigint

export type Value = Integer | string | boolean | readonly Integer[]

export interface ReportRequest {
  /** The parameters that are not empty. Date-times are in ticks. */
  readonly values: ReadonlyMap<string, Value>
  readonly flags: ReadonlySet<string>
}

type Parameters = Pick<NamedEndpoint, 'parameters' | 'required' | 'flags'>

export function checkBody({ parameters, required, flags }: Parameters, body: Body, firstPage = 1) {
  const { expand, ...others } = body
  const errors: PropertyErrors = {}
  /** Errors for parameters that are not in the specification. */
  const unknown: PropertyErrors = {}
  const values = new Map<string, Value>()
  const types = { ...parameters, ...Object.fromEntries(flags.map((flag) => [`expand.${flag}`, 'boolean'] as const)) }
  const expanded = isObject(expand) ? Object.entries(expand).map(([flag, on]) => [`expand.${flag}`, on] as const) : []
  for (const [name, given] of [...Object.entries(others), ...expanded]) {
    const type = types[name]
    if (type === undefined) unknown[name] = [`'${name}' is not a parameter of this request.`]
    else if (!isEmpty(given, type)) {
      const value = READERS[type](given)
      if (value === undefined) errors[name] = [`The value of ${name} is not a valid ${type}.`]
      else values.set(name, value)
    }
  }
  if (!isObject(expand ?? {})) errors['expand'] = ['The value of expand is not an object of booleans.']
  for (const name of required) if (!values.has(name)) errors[name] ??= [`The ${name} field is required.`]
  for (const [name, least] of Object.entries({ pageNumber: firstPage, pageSize: 1 })) {
    const given = values.get(name) ?? least
    if (typeof given !== 'number' || given < least) errors[name] = [`${name} must be from ${least} to 2^53.`]
  }
  const set = new Set(flags.filter((flag) => values.get(`expand.${flag}`) === true))
  for (const flag of flags) values.delete(`expand.${flag}`)
  const request: ReportRequest = { values, flags: set }
  return { request, errors, unknown }
}

export const isObject = (given: unknown): given is Body =>
  typeof given === 'object' && given !== null && !Array.isArray(given)

const isEmpty = (given: unknown, type: ParameterType): boolean =>
  given === null || given === '' || (type === 'integer[]' && Array.isArray(given) && given.length === 0)

const isInteger = (given: unknown): given is Integer =>
  Number.isSafeInteger(given) || (typeof given === 'bigint' && given === BigInt.asIntN(64, given))

const READERS: Readonly<Record<ParameterType, (given: unknown) => Value | undefined>> = {
  integer: (given) => (isInteger(given) ? given : undefined),
  'integer[]': (given) => (Array.isArray(given) && given.every(isInteger) ? given : undefined),
  string: (given) => (typeof given === 'string' ? given : undefined),
  boolean: (given) => (typeof given === 'boolean' ? given : undefined),
  'date-time': (given) => (typeof given === 'string' ? parseTicks(given) : undefined),
  'ISO 4217 code': (given) => (typeof given === 'string' && isCurrency(given) ? given : undefined),
}
