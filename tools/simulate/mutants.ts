/**
 * Counts the seeds that the simulation needs to notice each mutant (`npm run simulate:mutants`). Prints the table of
 * docs/SIMULATION.md. Fails if neither a seed nor a test notices a mutant.
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
const ONE_MUTANT_MS_MAX = 40 * 60_000

interface Summary {
  /** Number of seeds that were run. The last one failed, if any did. */
  readonly seeds: number
  readonly failed: readonly number[]
  readonly broken?: string
}

interface Result {
  readonly summary: Summary
  /** What the failing seed printed. */
  readonly history: string
}

async function tryMutant(mutant: Mutant): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-mutant-'))
  try {
    for (const path of COPIED) await cp(join(ROOT, path), join(folder, path), { recursive: true })
    await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
    await mutate(join(folder, mutant.file), mutant)
    return await run(folder, mutant)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function mutate(path: string, { name, file, from, to }: Mutant): Promise<void> {
  const text = await readFile(path, 'utf8')
  const places = text.split(from).length - 1
  if (places !== 1) throw new TypeError(`mutant "${name}": its text is in ${file} ${places} times: ${from}`)
  await writeFile(
    path,
    text.replace(from, () => to),
  )
}

async function run(folder: string, { needs }: Mutant): Promise<Result> {
  const which = needs === undefined ? [] : ['--fault', needs]
  const program = [join(folder, 'tools/simulate/main.ts'), '--seeds', values.seeds, '--first', values.first, ...which]
  const options = { timeout: ONE_MUTANT_MS_MAX, maxBuffer: 64 * 1_024 * 1_024 }
  const ended = promisify(execFile)(process.execPath, [...program, '--json', '--stop-at-first'], options)
  const result = await ended.catch((error: Error & { stdout?: string; stderr?: string }) => error)
  const { stdout = '', stderr = '' } = result
  if (!stdout.startsWith('{')) throw new TypeError(`the simulation itself broke: ${stderr}`, { cause: result })
  return { summary: JSON.parse(stdout) as Summary, history: stderr }
}

/** Returns the row of the table. */
function rowText({ name, needs, test }: Mutant, { seeds, failed: [seed], broken = '' }: Summary): string {
  const share = needs === undefined ? '' : ` (${seeds} \`${needs}\`)`
  if (seed !== undefined) return `| ${name} | ${seed}${share} | ${broken.split(':')[0]} |`
  return `| ${name} | none${share}${test === undefined ? '' : `; ${test} fails`} | – |`
}

const areas = Object.entries(MUTANTS).flatMap(([area, mutants]): (readonly [string, readonly Mutant[]])[] => {
  const chosen = mutants.filter(({ name }) => values.only === undefined || name.includes(values.only))
  return chosen.length === 0 ? [] : [[area, chosen]]
})
const isAlone = areas.flatMap(([, mutants]) => mutants).length === 1
process.stdout.write('| mutant | seed | rule |\n|---|---|---|\n')
for (const [area, mutants] of areas) {
  process.stdout.write(`| **${area}** | | |\n`)
  for (const mutant of mutants) {
    const { summary, history } = await tryMutant(mutant)
    // Names contain backticks, which a shell would run as commands inside double quotes.
    const again = `again: npm run simulate:mutants -- --only '${mutant.name.replaceAll("'", `'\\''`)}'`
    if (isAlone) process.stderr.write(history.replace(/^again: .*$/m, () => again))
    process.stdout.write(`${rowText(mutant, summary)}\n`)
    if (summary.failed.length === 0 && mutant.test === undefined) process.exitCode = 1
  }
}
