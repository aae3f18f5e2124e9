/**
 * Counts the seeds that the simulation needs to notice each mutant (`npm run simulate:mutants`). Fails if a mutant is
 * not noticed.
 */
import { execFile } from 'node:child_process'
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { type Mutant, MUTANTS } from './mutantList.ts'

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '600' },
    only: { type: 'string' },
    first: { type: 'string', default: '1' },
  },
})
const ROOT = join(import.meta.dirname, '../..')
const COPIED = [
  'schema',
  'src',
  'test/simulation',
  'test/support/withMethods.ts',
  'tools/simulate',
  'package.json',
  'tsconfig.json',
]
const ONE_MUTANT_MS_MAX = 20 * 60_000

interface Caught {
  readonly mutant: Mutant
  /** Undefined if no seed failed. */
  readonly seeds: number | undefined
  readonly seed: number | undefined
  readonly broken: string
}

class NotThere extends Error {}

async function tryMutant(mutant: Mutant): Promise<Caught> {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-mutant-'))
  try {
    for (const path of COPIED) await cp(join(ROOT, path), join(folder, path), { recursive: true })
    await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
    await mutate(join(folder, mutant.file), mutant)
    const { seeds, failed, broken } = await run(folder, mutant)
    const seed = failed[0]
    return { mutant, seeds: seed === undefined ? undefined : seeds, seed, broken: broken ?? '' }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function mutate(path: string, { name, file, from, to }: Mutant): Promise<void> {
  const text = await readFile(path, 'utf8')
  const places = text.split(from).length - 1
  if (places !== 1) throw new NotThere(`mutant "${name}": its text stands ${places} times in ${file}: ${from}`)
  await writeFile(
    path,
    text.replace(from, () => to),
  )
}

interface Summary {
  readonly seeds: number
  readonly failed: readonly number[]
  readonly broken?: string
}

async function run(folder: string, { needs }: Mutant): Promise<Summary> {
  const which = needs === undefined ? [] : ['--fault', needs]
  const program = [join(folder, 'tools/simulate/main.ts'), '--seeds', values.seeds, '--first', values.first, ...which]
  const options = { timeout: ONE_MUTANT_MS_MAX, maxBuffer: 64 * 1_024 * 1_024 }
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [...program, '--json', '--stop-at-first'], options)
    return JSON.parse(stdout) as Summary
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string }
    if (stdout?.startsWith('{') !== true)
      throw new TypeError(`the simulation itself broke: ${stderr}`, { cause: error })
    return JSON.parse(stdout) as Summary
  }
}

const chosen = MUTANTS.filter(({ name }) => values.only === undefined || name.includes(values.only))
let passed = 0
process.stdout.write('| mutant | seeds run | seed | what broke |\n|---|---|---|---|\n')
for (const mutant of chosen) {
  const { seeds, seed, broken } = await tryMutant(mutant)
  if (seeds === undefined) passed += 1
  const told = broken.replaceAll('|', '/').replaceAll('\n', ' ').slice(0, 110)
  process.stdout.write(`| ${mutant.name} | ${seeds ?? `not in ${values.seeds}`} | ${seed ?? ''} | ${told} |\n`)
}
process.exitCode = passed === 0 ? 0 : 1
