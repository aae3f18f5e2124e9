/**
 * Starts the longest test files first, so that all workers end at about the same time. The tables in docs/TESTING.md
 * contain the times.
 */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { ROOT } from '../rules/source.ts'

const PAGE = path.join(ROOT, 'docs/TESTING.md')

export type Kind = 'short' | 'long'

/** Returns the seconds of the files in a table of docs/TESTING.md. */
export function timesOf(kind: Kind): Map<string, number> {
  const [, table = ''] = readFileSync(PAGE, 'utf8').split(new RegExp(`<!-- times of ${kind} tests: (?:begin|end) -->`))
  const rows = table.matchAll(/^\| (test\/\S+\.test\.ts) \| \d+ \| (\d+) \|/gm)
  return new Map(Array.from(rows, ([, file = '', seconds]) => [file, Number(seconds)]))
}

/** Returns the longest files first. Files of a project stay together. */
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
