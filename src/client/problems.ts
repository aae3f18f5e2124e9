/** Reads the problems in the body of a 400 or 422. Accepts common layouts: the specification shows none (§7). */
import { attempt } from '../errors.ts'

export interface Problem {
  property: string | undefined
  message: string
}

const PROBLEMS_MAX = 20

const LISTS = ['errors', 'validationfailure', 'validationfailures', 'failures']
const PROPERTIES = ['propertyname', 'property', 'field', 'name', 'key', 'path']
const MESSAGES = ['errormessage', 'message', 'description', 'detail', 'error', 'title']

type Plain = Record<string, unknown>

/** Returns the problems in a body. A body with an unknown layout becomes one problem without a property. */
export function problemsIn(bytes: Buffer): Problem[] {
  const text = bytes.toString('utf8')
  const body = parsedJson(text)
  if (body === undefined) return text.trim() === '' ? [] : [{ property: undefined, message: text }]
  const list = isPlain(body) ? field(body, LISTS) : body
  const problems = list === undefined ? [] : problemsOf(list)
  if (problems.length > 0) return problems.slice(0, PROBLEMS_MAX)
  const summary = isPlain(body) ? field(body, MESSAGES) : undefined
  return [{ property: undefined, message: asText(summary ?? body) }]
}

function problemsOf(list: unknown): Problem[] {
  if (Array.isArray(list)) return list.map((item: unknown) => (isPlain(item) ? problemOf(item) : loose(item)))
  if (!isPlain(list)) return [loose(list)]
  return Object.entries(list).map(([property, messages]) => ({ property, message: joined(messages) }))
}

function problemOf(item: Plain): Problem {
  const property = field(item, PROPERTIES)
  const message = field(item, MESSAGES) ?? field(item, ['errors', 'messages', 'errorcode', 'code'])
  return {
    property: property === undefined ? undefined : asText(property),
    message: message === undefined ? JSON.stringify(item) : joined(message),
  }
}

const loose = (item: unknown): Problem => ({ property: undefined, message: asText(item) })

const joined = (messages: unknown): string =>
  Array.isArray(messages)
    ? messages.map((each: unknown) => (isPlain(each) ? problemOf(each).message : asText(each))).join(', ')
    : asText(messages)

const asText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

const isPlain = (value: unknown): value is Plain => typeof value === 'object' && value !== null && !Array.isArray(value)

/** Ignores the case of names, because services use camelCase or PascalCase. */
function field(body: Plain, names: readonly string[]): unknown {
  const entries = Object.entries(body).map(([name, value]) => [name.toLowerCase(), value] as const)
  for (const name of names) {
    const found = entries.find(([each, value]) => each === name && value !== null && value !== undefined)
    if (found !== undefined) return found[1]
  }
  return undefined
}

export const parsedJson = (text: string): unknown => attempt(() => JSON.parse(text), undefined)
