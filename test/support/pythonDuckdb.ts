/** DuckDB for Python: a client that Tidemark does not contain. */
import { execFile, execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ROOT } from '../rules/source.ts'

const EXTENSIONS = ['ducklake', 'sqlite-scanner', 'postgres-scanner']

const PRELUDE = `
import duckdb, glob, json, os, sys
db = duckdb.connect()
db.execute('SET enable_progress_bar = false')
for name in sys.argv[2].split(','):
    db.execute("LOAD '" + glob.glob(sys.argv[1] + '/**/' + name + '.duckdb_extension', recursive=True)[0] + "'")
`

/** Returns a command that runs Python code with a connection `db`. */
export function pythonDuckdb(version: string, scanner: 'sqlite' | 'postgres'): readonly [string, ...string[]] {
  const folder = join(ROOT, 'node_modules/.cache', `python-duckdb-${version}`)
  if (!existsSync(join(folder, 'duckdb'))) {
    const packages = [`duckdb==${version}`, ...EXTENSIONS.map((name) => `duckdb-extension-${name}==${version}`)]
    const args = ['-m', 'pip', 'install', '--quiet', '--no-deps', '--target', folder, ...packages]
    execFileSync('python3', args, { stdio: ['ignore', 'inherit', 'inherit'] })
  }
  const program = `import sys; sys.path.insert(0, ${JSON.stringify(folder)}); exec(sys.argv[3])`
  return ['python3', '-c', program, folder, `${scanner}_scanner,ducklake`]
}

/** Runs Python code with a connection `db`, and returns the printed text. */
export async function inPython([command, ...args]: ReturnType<typeof pythonDuckdb>, code: string): Promise<string> {
  return (await promisify(execFile)(command, [...args, PRELUDE + code], { maxBuffer: 2 ** 26 })).stdout
}
