/**
 * Prints how long each test file and each folder took, and how much processor time they used, as the tables of
 * docs/TESTING.md. `npm run test:times` uses it.
 */
import { writeFileSync, readFileSync } from 'node:fs'
import path from 'node:path'
import type { Reporter, TestModule } from 'vitest/node'
import { ROOT } from '../rules/source.ts'

const PAGE = path.join(ROOT, 'docs/TESTING.md')
const [BEGIN, END] = ['<!-- times: begin -->', '<!-- times: end -->']
/** Files that use less are only part of their folder's sum. */
const SHOWN_FROM_MS = 3_000

interface Times {
  readonly name: string
  readonly files: number
  readonly tests: number
  readonly wallMs: number
  readonly processorMs: number
}

export default class TimesReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const files = modules.map(timesOf)
    const folders = Object.entries(Object.groupBy(files, ({ name }) => path.dirname(name)))
    const sums = folders.map(([name, inside = []]) => sumOf(name, inside))
    const shown = files.filter(({ processorMs, wallMs }) => Math.max(processorMs, wallMs) >= SHOWN_FROM_MS)
    const tables = [tableOf('folder', [...sums, sumOf('all', files)]), tableOf('file', shown)].join('\n\n')
    const [before, , after] = readFileSync(PAGE, 'utf8').split(new RegExp(`(?<=${BEGIN})|(?=${END})`))
    writeFileSync(PAGE, `${before}\n${tables}\n${after}`)
  }
}

function timesOf(module: TestModule): Times {
  const { duration, collectDuration, setupDuration } = module.diagnostic()
  return {
    name: module.relativeModuleId,
    files: 1,
    tests: [...module.children.allTests()].length,
    wallMs: duration + collectDuration + setupDuration,
    processorMs: module.meta().processorMs ?? 0,
  }
}

function sumOf(name: string, parts: readonly Times[]): Times {
  const sum = (of: (part: Times) => number) => parts.reduce((total, part) => total + of(part), 0)
  return {
    name,
    files: parts.length,
    tests: sum(({ tests }) => tests),
    wallMs: sum(({ wallMs }) => wallMs),
    processorMs: sum(({ processorMs }) => processorMs),
  }
}

function tableOf(title: string, times: readonly Times[]): string {
  const rows = times
    .toSorted((a, b) => b.processorMs - a.processorMs)
    .map(({ name, files, tests, wallMs, processorMs }) => [name, files, tests, seconds(wallMs), seconds(processorMs)])
  return [[title, 'files', 'tests', 'seconds', 'processor seconds'], ['---', ...Array(4).fill('--:')], ...rows]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n')
}

const seconds = (ms: number): string => (ms / 1_000).toFixed(1)
