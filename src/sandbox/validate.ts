/** Validates a request body (spec §4) and lists errors by property (§7). An empty filter means all values. */
import { isCurrency } from './money.ts'
import type { ParameterType } from './reports/definition.ts'
import type { NamedEndpoint } from './reports/index.ts'
import { parseTicks } from './ticks.ts'

export type PropertyErrors = Record<string, string[]>

type Integer = number | bigint

export type Value = Integer | string | boolean | readonly Integer[]

export interface ReportRequest {
  /** The parameters by name, without omitted and empty ones. Date-times are ticks. */
  readonly values: ReadonlyMap<string, Value>
  readonly flags: ReadonlySet<string>
}

export interface Validation {
  readonly request: ReportRequest
  readonly errors: PropertyErrors
  /** Parameters that the specification does not have. With `strictParameters: false`, these errors are ignored. */
  readonly unknown: PropertyErrors
}

export function checkBody(endpoint: NamedEndpoint, body: Readonly<Record<string, unknown>>, firstPage = 1): Validation {
  const errors: PropertyErrors = {}
  const unknown: PropertyErrors = {}
  const values = new Map<string, Value>()
  for (const [name, given] of Object.entries(body)) {
    const type = endpoint.parameters[name]
    if (name === 'expand') continue
    if (type === undefined) unknown[name] = [`'${name}' is not a parameter of this report.`]
    else readInto(values, errors, { name, type, given })
  }
  const flags = readExpand(endpoint, body['expand'], { errors, unknown })
  for (const name of endpoint.required) {
    if (!values.has(name) && errors[name] === undefined) errors[name] = [`The ${name} field is required.`]
  }
  checkTogether(values, errors, firstPage)
  return { request: { values, flags }, errors, unknown }
}

function readInto(
  values: Map<string, Value>,
  errors: PropertyErrors,
  { name, type, given }: { name: string; type: ParameterType; given: unknown },
): void {
  if (given === null || given === undefined || given === '') return
  if (type === 'integer[]' && Array.isArray(given) && given.length === 0) return
  const value = READERS[type](given)
  if (value === undefined) errors[name] = [`The value of ${name} is not a valid ${type}.`]
  else values.set(name, value)
}

const isInteger = (given: unknown): given is Integer =>
  Number.isSafeInteger(given) || (typeof given === 'bigint' && given === BigInt.asIntN(64, given))

const READERS: Readonly<Record<ParameterType, (given: unknown) => Value | undefined>> = {
  integer: (given) => (isInteger(given) ? given : undefined),
  'integer[]': (given) => (Array.isArray(given) && given.every(isInteger) ? given : undefined),
  string: (given) => (typeof given === 'string' ? given : undefined),
  boolean: (given) => (typeof given === 'boolean' ? given : undefined),
  'date-time': (given) => (typeof given === 'string' ? parseTicks(given) : undefined),
}

function readExpand(
  endpoint: NamedEndpoint,
  expand: unknown,
  { errors, unknown }: { errors: PropertyErrors; unknown: PropertyErrors },
): ReadonlySet<string> {
  const flags = new Set<string>()
  if (expand === undefined || expand === null) return flags
  if (typeof expand !== 'object' || Array.isArray(expand)) {
    errors['expand'] = ['The value of expand is not an object of booleans.']
    return flags
  }
  for (const [flag, given] of Object.entries(expand)) {
    const property = `expand.${flag}`
    if (!endpoint.flags.includes(flag)) unknown[property] = [`'${flag}' can't be expanded in this report.`]
    else if (given !== null && typeof given !== 'boolean')
      errors[property] = [`The value of ${property} is not a valid boolean.`]
    else if (given === true) flags.add(flag)
  }
  return flags
}

function checkTogether(values: ReadonlyMap<string, Value>, errors: PropertyErrors, firstPage: number): void {
  for (const [name, least] of [
    ['pageNumber', firstPage],
    ['pageSize', 1],
  ] as const) {
    const given = values.get(name) as Integer
    if (given < least) errors[name] = [`${name} must be ${least} or more.`]
    else if (typeof given === 'bigint') errors[name] = [`${name} is too large.`]
  }
  for (const name of ['targetCurrencyCode', 'currencyCode']) {
    const code = values.get(name)
    if (code !== undefined && !isCurrency(String(code)))
      errors[name] = [`'${String(code)}' is not a known ISO 4217 currency code.`]
  }
}
