/** Reads the problems in an error response, whose layout the specification does not show (§7). */
import { attempt } from '../errors.ts'

export interface Problem {
  property: string | undefined
  message: string
}

const PROBLEMS_MAX = 20

const LISTS = ['errors', 'validationfailure', 'validationfailures', 'failures']
const PROPERTIES = ['propertyname', 'property', 'field', 'name', 'key', 'path']
const MESSAGES = ['errormessage', 'message', 'description', 'detail', 'error', 'title', 'errors', 'messages']

type Plain = Record<string, unknown>

/** Returns the problems in a body. A body with an unknown layout is one problem. */
export function problemsIn(bytes: Buffer): Problem[] {
  const text = bytes.toString('utf8')
  if (text.trim() === '') return []
  const body = parsedJson(text) ?? text
  const problems = problemsOf(isPlain(body) ? field(body, LISTS) : body)
  return problems.length > 0 ? problems.slice(0, PROBLEMS_MAX) : [problemOf(body)]
}

function problemsOf(list: unknown): Problem[] {
  if (list === undefined) return []
  if (Array.isArray(list)) return list.map(problemOf)
  if (!isPlain(list)) return [problemOf(list)]
  return Object.entries(list).map(([property, messages]) => ({ property, message: asText(messages) }))
}

function problemOf(item: unknown): Problem {
  if (!isPlain(item)) return { property: undefined, message: asText(item) }
  const property = field(item, PROPERTIES)
  return {
    property: property === undefined ? property : asText(property),
    message: asText(field(item, MESSAGES) ?? item),
  }
}

function asText(value: unknown): string {
  if (Array.isArray(value)) return value.map((each: unknown) => problemOf(each).message).join(', ')
  return typeof value === 'string' ? value : JSON.stringify(value)
}

const isPlain = (value: unknown): value is Plain => typeof value === 'object' && value !== null && !Array.isArray(value)

/** Ignores case, because services use camelCase or PascalCase. */
function field(body: Plain, names: readonly string[]): unknown {
  const known = Object.entries(body).filter(([, value]) => value !== null)
  const byName = new Map(known.map(([name, value]) => [name.toLowerCase(), value]))
  return names.map((name) => byName.get(name)).find((value) => value !== undefined)
}

export const parsedJson = (text: string): unknown => attempt(() => JSON.parse(text), undefined)
