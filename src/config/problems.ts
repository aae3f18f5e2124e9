/**
 * What is wrong with a configuration, and where. Problems are collected rather than thrown one by one, so that an
 * operator mends the file once. Their words name keys, never values that may be secret.
 */
import { SyncError } from '../errors.ts'

export interface Problem {
  /** `tidemark.yaml:12`, or the name of a variable. */
  readonly where: string
  readonly problem: string
}

export type Path = readonly (string | number)[]

/** `reports.events.expand[2]` */
export const pathText = (path: Path): string =>
  path.map((step, index) => (typeof step === 'number' ? `[${step}]` : `${index === 0 ? '' : '.'}${step}`)).join('')

/** `withoutFileIn`: the folder that a file was looked for in, where there is none. */
export function configInvalid(problems: readonly Problem[], withoutFileIn?: string): SyncError {
  const heading =
    problems.length === 1 ? 'the configuration is wrong:' : `the configuration has ${problems.length} problems:`
  const noFile = withoutFileIn === undefined ? '' : `there is no tidemark.yaml in ${withoutFileIn}, and without one `
  const lines = problems.map(({ where, problem }) => `  ${where}  ${problem}`)
  return new SyncError('CONFIG_INVALID', [`${noFile}${heading}`, ...lines].join('\n'), {
    cure:
      withoutFileIn === undefined
        ? 'Correct the lines and variables named above, then run "tidemark check". tidemark.example.yaml shows every key.'
        : 'Run "tidemark init", which makes one, or name yours with --config FILE; or set the variables named above, then run "tidemark check".',
    data: { problems },
  })
}
