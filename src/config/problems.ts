/** Collects the problems of a configuration in one error. Problems name keys, never values, which can be secret. */
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { SyncError } from '../errors.ts'

export interface Problem {
  readonly where: string
  readonly problem: string
}

export type Path = readonly (string | number)[]

/** `at` is a setting's path or a variable's name. */
export interface Finding {
  readonly at: Path | string
  readonly problem: string
}

/** Returns where a setting was set. Example: `tidemark.yaml:12`, or the name of a variable. */
export type WhereOf = (path: Path) => string

export const pathText = (path: Path): string =>
  path.map((step, index) => (typeof step === 'number' ? `[${step}]` : `${index === 0 ? '' : '.'}${step}`)).join('')

export const valueAt = (value: unknown, steps: Path): unknown =>
  steps.reduce<unknown>(
    (inner, step) =>
      typeof inner === 'object' && inner !== null ? (inner as Record<string, unknown>)[step] : undefined,
    value,
  )

export function configInvalid(problems: readonly Problem[], emptyFolder?: string): SyncError {
  const noFile = emptyFolder === undefined ? '' : `there is no tidemark.yaml in ${emptyFolder}, and without one `
  const isOption = problems.every(({ where }) => where.startsWith('--'))
  const next = isOption
    ? CORRECT
    : `Correct what is named above, then run "tidemark check".${shownBy('tidemark.example.yaml', 'shows every key')}`
  const make =
    'Run "tidemark init", which makes one, or name yours with --config FILE; or set the variables named above, then run "tidemark check".'
  return invalid(problems, noFile, emptyFolder === undefined ? next : make)
}

/** The error for wrong declarations of `reports_from`. */
export const declarationsInvalid = (problems: readonly Problem[]): SyncError =>
  invalid(problems, '', CORRECT + shownBy('docs/OWN-REPORTS.md', 'shows how to declare a report'))

const CORRECT = 'Correct what is named above, then run this command again.'

/** Returns a sentence about a file of this installation. Tries two paths: a built package has one more folder. */
function shownBy(name: string, what: string): string {
  const places = ['../../', '../../../'].map((up) => fileURLToPath(new URL(up + name, import.meta.url)))
  const file = places.find((each) => existsSync(each))
  return file === undefined ? '' : ` ${file} ${what}.`
}

function invalid(problems: readonly Problem[], noFile: string, cure: string): SyncError {
  const heading =
    problems.length === 1 ? 'the configuration is wrong:' : `the configuration has ${problems.length} problems:`
  const lines = problems.map(({ where, problem }) => `  ${where}  ${problem}`)
  return new SyncError('CONFIG_INVALID', [`${noFile}${heading}`, ...lines].join('\n'), { cure, data: { problems } })
}
