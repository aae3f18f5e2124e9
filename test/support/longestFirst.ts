/**
 * Starts the test files that take longest first, so that no worker is still busy with a long file when the others have
 * none left. The tables in docs/TESTING.md contain the times. Vitest's own order is by the size of a file, or by the
 * times of the last command, which can be those of the other tests in the same file.
 */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { ROOT } from '../rules/source.ts'

const PAGE = path.join(ROOT, 'docs/TESTING.md')

export type Kind = 'short' | 'long'

/** Returns the seconds of the files in the table of `npm test` or of `npm run test:long`. */
export function timesOf(kind: Kind): Map<string, number> {
  const [, table = ''] = readFileSync(PAGE, 'utf8').split(new RegExp(`<!-- times of ${kind} tests: (?:begin|end) -->`))
  const rows = table.matchAll(/^\| (test\/\S+\.test\.ts) \| \d+ \| (\d+) \|/gm)
  return new Map(Array.from(rows, ([, file = '', seconds]) => [file, Number(seconds)]))
}

/** Returns the files in their order, but those with times first, longest first. Files of a project stay together. */
export function longestFirst<File>(
  files: readonly File[],
  of: { readonly name: (file: File) => string; readonly project: (file: File) => string; readonly kind: Kind },
): File[] {
  const times = timesOf(of.kind)
  const secondsOf = (file: File) => times.get(of.name(file)) ?? 0
  return Object.values(Object.groupBy(files, of.project)).flatMap((inside = []) =>
    inside.toSorted((a, b) => secondsOf(b) - secondsOf(a)),
  )
}

export default class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return longestFirst(await super.sort(files), {
      name: ({ moduleId }) => path.relative(ROOT, moduleId),
      project: ({ project }) => project.name,
      kind: this.ctx.config.tagsFilter?.[0] === 'long' ? 'long' : 'short',
    })
  }
}
