/** Loads the declaration files named by the setting `reports_from`. */
import { globSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { Worker } from 'node:worker_threads'
import { isDeepStrictEqual } from 'node:util'
import type { z } from 'zod'
import { contradictionsIn, type DeclarationProblem } from '../../schema/declarationProblems.ts'
import { isReportName, registerReports, reportOf } from '../../schema/index.ts'
import { Declaration } from '../../schema/report.ts'
import { systemClock, within } from '../clock.ts'
import { messageOf } from './issues.ts'
import type { Problem } from './problems.ts'

const LOAD_MS_MAX = 10_000
const FILES_MAX = 200

/** The declarations that a module exports, or its error. */
export type LoadedModule =
  | { readonly file: string; readonly exported: readonly unknown[] }
  | { readonly file: string; readonly line: number | undefined; readonly error: string }

/** Registers the declarations, or none if one has a problem. Returns the problems. */
export async function loadOwnReports(from: readonly string[], folder: string): Promise<Problem[]> {
  const files = from.flatMap((each) => filesAt(path.resolve(folder, each)))
  const missing = from.filter((each) => filesAt(path.resolve(folder, each)).length === 0)
  const absent = missing.map((each) => ({
    where: each,
    problem: 'there is no declaration file (.ts, .js or .mjs) here',
  }))
  if (absent.length > 0) return absent
  if (files.length > FILES_MAX)
    return [{ where: 'reports_from', problem: `has ${files.length} files; at most ${FILES_MAX} are loaded` }]
  const found: Declaration[] = []
  const problems = files.length === 0 ? [] : (await modulesOf(files)).flatMap((module) => problemsOf(module, found))
  if (problems.length === 0) registerReports(found)
  return problems.map(({ where, problem }) => ({ where: path.relative(folder, where), problem }))
}

function filesAt(place: string): string[] {
  const stat = statSync(place, { throwIfNoEntry: false })
  if (stat?.isDirectory() !== true) return stat === undefined ? [] : [place]
  return globSync('*.{ts,mts,js,mjs}', { cwd: place, exclude: (name) => /\.d\.m?ts$/.test(name) })
    .toSorted()
    .map((name) => path.join(place, name))
}

/** Loads the modules in a thread, because only a thread can be stopped if a module never finishes loading. */
async function modulesOf(files: readonly string[]): Promise<readonly LoadedModule[]> {
  const loaded = new Map<string, LoadedModule>()
  const thread = new Worker(new URL('./ownReportsThread.ts', import.meta.url), { workerData: files })
  const { promise, resolve } = Promise.withResolvers<string>()
  thread.on('message', (module: LoadedModule) => loaded.set(module.file, module))
  thread.once('error', ({ message }) => resolve(`ended the thread that loads it: ${message}`))
  thread.once('exit', () => resolve('ended the process while it was loaded'))
  const why = (await within(LOAD_MS_MAX, systemClock, () => promise)) ?? `did not load within ${LOAD_MS_MAX / 1_000} s`
  await thread.terminate()
  const unloaded = files.find((file) => !loaded.has(file))
  return [...loaded.values(), ...(unloaded === undefined ? [] : [{ file: unloaded, line: undefined, error: why }])]
}

function problemsOf(module: LoadedModule, found: Declaration[]): Problem[] {
  const { file } = module
  if ('error' in module)
    return [{ where: module.line === undefined ? file : `${file}:${module.line}`, problem: module.error }]
  if (module.exported.length === 0)
    return [{ where: file, problem: 'exports no declaration: export const orders = defineReport({ … })' }]
  const lines = readFileSync(file, 'utf8').split('\n')
  return module.exported.flatMap((value) => {
    const { data: report, error } = Declaration.safeParse(value)
    const name = String((value as { name?: unknown }).name)
    const problems = error
      ? error.issues.flatMap(problemsIn)
      : [...contradictionsIn(report), ...clashesOf(report, found)]
    if (report) found.push(report)
    return problems.map((each) => ({ where: `${file}:${lineOf(lines, name, each)}`, problem: textOf(name, each) }))
  })
}

function problemsIn(issue: z.core.$ZodIssue): DeclarationProblem[] {
  const path = issue.path.map(String)
  if (issue.code !== 'unrecognized_keys') return [{ path, problem: messageOf(issue) }]
  return issue.keys.map((key) => ({ path: [...path, key], problem: 'is no property of a declaration' }))
}

function clashesOf(report: Declaration, found: readonly Declaration[]): DeclarationProblem[] {
  const path = ['name']
  if (found.some(({ name }) => name === report.name)) return [{ path, problem: 'is the name of two declarations' }]
  const isOther = isReportName(report.name) && !isDeepStrictEqual({ ...reportOf(report.name) }, { ...report })
  return isOther ? [{ path, problem: 'is the name of another report; choose a different one' }] : []
}

const textOf = (name: string, { path: steps, problem }: DeclarationProblem): string =>
  `report ${name}: ${steps.join('.')} ${problem}`

function lineOf(lines: readonly string[], name: string, { path: steps }: DeclarationProblem): number {
  const start = Math.max(
    0,
    lines.findIndex((line) => line.includes(`'${name}'`) || line.includes(`"${name}"`)),
  )
  const property = steps.toReversed().flatMap((step) => {
    const pattern = new RegExp(`(^|[\\s{,])['"]?${step.replaceAll(/\W/g, '.')}['"]?\\s*:`)
    const after = lines.findIndex((line, index) => index >= start && pattern.test(line))
    return after === -1 ? [] : [after]
  })[0]
  return (property ?? start) + 1
}
