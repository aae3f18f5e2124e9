/** A dbt project in a folder of its own that reads a published copy, and the ways to run it. */
import { execFile } from 'node:child_process'
import { cp, mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { stringify } from 'yaml'
import type { Python } from './python.ts'

const OUTPUT_BYTES_MAX = 64 * 2 ** 20

export interface ProjectParts {
  readonly folder: string
  readonly published: string
  readonly sources: string
  /** The name of the database in the sources. Default: `published`. */
  readonly alias?: string
  /** Files of DuckDB's extensions that dbt loads before it attaches. */
  readonly extensions?: readonly string[]
}

/** Copies the project, and attaches the published copy as the sources expect it. */
export async function aProject({
  folder,
  published,
  sources,
  alias = 'published',
  extensions = [],
}: ProjectParts): Promise<void> {
  await mkdir(folder, { recursive: true })
  for (const part of ['dbt_project.yml', 'models']) {
    await cp(path.join(import.meta.dirname, part), path.join(folder, part), { recursive: true })
  }
  await writeFile(path.join(folder, 'models/sources.yml'), sources)
  const attach = [{ path: published, alias, read_only: true }]
  const dev = { type: 'duckdb', path: path.join(folder, 'models.duckdb'), attach, extensions, threads: 2 }
  await writeFile(
    path.join(folder, 'profiles.yml'),
    stringify({ tidemark_reading: { target: 'dev', outputs: { dev } } }),
  )
}

export interface Ran {
  readonly code: number
  readonly output: string
  /** The line in which dbt sums up. */
  readonly last: string
}

/** Runs dbt in the project's folder. */
export async function dbt({ bin }: Python, folder: string, args: readonly string[]): Promise<Ran> {
  const options = {
    cwd: folder,
    maxBuffer: OUTPUT_BYTES_MAX,
    env: { ...process.env, DBT_SEND_ANONYMOUS_USAGE_STATS: 'false' },
  }
  const told = await promisify(execFile)(
    path.join(bin, 'dbt'),
    ['--no-use-colors', ...args, '--profiles-dir', '.'],
    options,
  ).then(
    ({ stdout }) => ({ code: 0, output: stdout }),
    (error: Error & { code?: number; stdout?: string }) => ({
      code: error.code ?? 1,
      output: error.stdout ?? error.message,
    }),
  )
  const lines = told.output.trimEnd().split('\n')
  const last = lines.findLast((line) => /Done\. PASS=|Finished running/.test(line)) ?? lines.at(-1) ?? ''
  return { ...told, last: last.replace(/^[\d:]+ +/, '') }
}
