/** Explains validation errors to an operator: the wrong key, and what is allowed. */
import { z } from 'zod'
import { pathText, type Finding, type Path } from './problems.ts'
import { rawConfig } from './raw.ts'
import { hint, reportHint } from './suggest.ts'

export function findingsOf(error: z.ZodError | undefined): readonly Finding[] {
  return (error?.issues ?? []).flatMap((issue) => {
    const path = issue.path.map((step) => (typeof step === 'number' ? step : String(step)))
    if (issue.code !== 'unrecognized_keys') return [{ at: path, problem: `${subject(path)} ${messageOf(issue)}` }]
    return issue.keys.map((key) => ({ at: [...path, key], problem: unknownKey(path, key) }))
  })
}

const subject = (path: Path): string => (path.length === 0 ? 'the configuration' : pathText(path))

function unknownKey(path: Path, key: string): string {
  const name = pathText([...path, key])
  const known = keysAt(path)
  if (/secret|password|token/i.test(key) && !known.includes(key)) {
    return `${name} is refused: secrets do not belong in this file. Put it in REPORTING_CLIENT_SECRET or in the file that service.client_secret_file names, and have this secret replaced if others could read the file`
  }
  if (path.join('.') === 'reports') return `there is no report "${key}"${reportHint(key, known)}`
  return `${name} is not a setting${hint(key, known)}`
}

function keysAt(path: Path): readonly string[] {
  let schema: unknown = rawConfig()
  for (const step of path) {
    const inner = unwrapped(schema)
    if (inner instanceof z.ZodObject) schema = (inner.shape as Record<string, unknown>)[step]
    else if (inner instanceof z.ZodArray) schema = inner.element
  }
  const found = unwrapped(schema)
  return found instanceof z.ZodObject ? Object.keys(found.shape) : []
}

function unwrapped(schema: unknown): unknown {
  const wrapped = schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault
  return wrapped ? unwrapped(schema.unwrap()) : schema
}

const TYPE_WORDS: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list such as [a, b]',
  object: 'a section of keys',
}

/** Rewrites zod's messages. Keeps our own messages, which begin with "must". */
export function messageOf(issue: z.core.$ZodIssue): string {
  if (issue.message.startsWith('must ')) return issue.message
  if (issue.code === 'invalid_type') return `must be ${TYPE_WORDS[issue.expected] ?? issue.expected}`
  if (issue.code === 'invalid_value') return `must be one of ${issue.values.map(String).join(', ')}`
  if (issue.code === 'too_big') return `must be at most ${issue.maximum}`
  return issue.code === 'too_small' ? tooSmall(issue) : issue.message
}

function tooSmall(issue: z.core.$ZodIssueTooSmall): string {
  if (issue.origin === 'string' || issue.origin === 'array') return 'must not be empty'
  return issue.inclusive === true ? `must be at least ${issue.minimum}` : `must be more than ${issue.minimum}`
}
