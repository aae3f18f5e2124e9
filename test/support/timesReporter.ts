/** Writes the times of test folders and of the slowest files to docs/TESTING.md, if TIDEMARK_TEST_TIMES is set. */
import { writeFileSync, readFileSync } from 'node:fs'
import path from 'node:path'
import type { Reporter, TestModule, Vitest } from 'vitest/node'
import { ROOT } from '../rules/source.ts'

const PAGE = path.join(ROOT, 'docs/TESTING.md')
const FILES_SHOWN = 12

interface Times {
  readonly name: string
  readonly tests: number
  readonly wallMs: number
  readonly processorMs: number
}

export default class TimesReporter implements Reporter {
  #kind = 'short'
  #startedMs = 0

  onInit(vitest: Vitest): void {
    this.#kind = vitest.config.tagsFilter?.[0] === 'long' ? 'long' : 'short'
    this.#startedMs = performance.now()
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const files = modules.map(timesOf).filter(({ tests }) => tests > 0)
    const folders = Object.entries(Object.groupBy(files, ({ name }) => path.dirname(name)))
    const sums = folders.map(([name, inside = []]) => sumOf(name, inside))
    const all = sumOf('all', files)
    const took = `${all.tests} tests of ${files.length} files took ${minutes(performance.now() - this.#startedMs)}.`
    const tables = [tableOf('folder', [...sums, all]), tableOf('file', files, FILES_SHOWN)]
    const [begin, end] = [`<!-- times of ${this.#kind} tests: begin -->`, `<!-- times of ${this.#kind} tests: end -->`]
    const [before, , after] = readFileSync(PAGE, 'utf8').split(new RegExp(`(?<=${begin})|(?=${end})`))
    writeFileSync(PAGE, `${before}\n${[took, ...tables].join('\n\n')}\n${after}`)
  }
}

function timesOf(module: TestModule): Times {
  const { duration, collectDuration, setupDuration } = module.diagnostic()
  const ran = [...module.children.allTests()].filter((test) => test.result().state !== 'skipped')
  return {
    name: module.relativeModuleId,
    tests: ran.length,
    wallMs: duration + collectDuration + setupDuration,
    processorMs: module.meta().processorMs ?? 0,
  }
}

function sumOf(name: string, parts: readonly Times[]): Times {
  const sum = (of: (part: Times) => number) => parts.reduce((total, part) => total + of(part), 0)
  return {
    name,
    tests: sum(({ tests }) => tests),
    wallMs: sum(({ wallMs }) => wallMs),
    processorMs: sum(({ processorMs }) => processorMs),
  }
}

function tableOf(title: string, times: readonly Times[], max = times.length): string {
  const rows = times
    .toSorted((a, b) => b.wallMs - a.wallMs)
    .slice(0, max)
    .map(({ name, tests, wallMs, processorMs }) => [name, tests, seconds(wallMs), seconds(processorMs)])
  return [[title, 'tests', 'seconds', 'processor seconds'], ['---', ...Array(3).fill('--:')], ...rows]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n')
}

const seconds = (ms: number): string => (ms / 1_000).toFixed(0)
const minutes = (ms: number): string => `${Math.floor(ms / 60_000)} minutes ${seconds(ms % 60_000)} seconds`
