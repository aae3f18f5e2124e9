/**
 * DuckDB's extensions for the tests in test/lake: from TIDEMARK_EXTENSIONS, or downloaded once. Without them, the run
 * fails: tests are never skipped.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { ROOT } from '../rules/source.ts'
import { installing } from './apt.ts'
import { findPostgres } from './postgresServer.ts'
import { needStorage } from './objectStorage.ts'

const EXTENSIONS = ['ducklake', 'httpfs', 'postgres_scanner', 'quack', 'sqlite_scanner']

export default async function setup(): Promise<void> {
  installMissing()
  needStorage()
  const given = process.env['TIDEMARK_EXTENSIONS']
  const folder = given === undefined ? await fetched() : resolve(given)
  const missing = EXTENSIONS.filter((name) => !existsSync(join(folder, `${name}.duckdb_extension`)))
  if (missing.length > 0) ended(`${folder} has no ${missing.join(', ')}`, await downloadLine('DIR'))
  process.env['TIDEMARK_EXTENSIONS'] = folder
}

/** The lake needs PostgreSQL, and pip downloads the extensions. */
function installMissing(): void {
  const missing = [
    ...(findPostgres() === undefined ? ['postgresql'] : []),
    ...(process.env['TIDEMARK_EXTENSIONS'] === undefined && !hasPip() ? ['python3-pip'] : []),
  ]
  if (missing.length === 0) return
  const line = installing(...missing)
  const mayInstall = existsSync('/etc/debian_version') && process.getuid?.() === 0
  if (!mayInstall) ended(`${missing.join(' and ')} must be installed`, line)
  console.error(`The lake tests need ${missing.join(' and ')}. Installing: ${line}`)
  execFileSync('sh', ['-c', line], { stdio: ['ignore', 'ignore', 'inherit'] })
}

function hasPip(): boolean {
  try {
    execFileSync('python3', ['-m', 'pip', '--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

export const extensionsFolder = (): string => process.env['TIDEMARK_EXTENSIONS'] ?? ''

async function fetched(): Promise<string> {
  const folder = join(ROOT, 'node_modules/.cache/duckdb-extensions', await version())
  if (EXTENSIONS.every((name) => existsSync(join(folder, `${name}.duckdb_extension`)))) return folder
  console.error(`TIDEMARK_EXTENSIONS is not set: fetching DuckDB's extensions as Python wheels into ${folder}`)
  mkdirSync(folder, { recursive: true })
  const line = await downloadLine(folder)
  try {
    execFileSync('sh', ['-c', line], { stdio: ['ignore', 'inherit', 'inherit'] })
    const wheels = readdirSync(folder).filter((file) => file.endsWith('.whl'))
    for (const wheel of wheels) execFileSync('python3', ['-c', UNPACK, join(folder, wheel), folder])
  } catch (error) {
    ended(error instanceof Error ? error.message : String(error), line)
  }
  return folder
}

const UNPACK = `
import sys, zipfile, os
with zipfile.ZipFile(sys.argv[1]) as wheel:
    for name in wheel.namelist():
        if name.endswith('.duckdb_extension'):
            open(os.path.join(sys.argv[2], os.path.basename(name)), 'wb').write(wheel.read(name))
os.remove(sys.argv[1])
`

async function downloadLine(folder: string): Promise<string> {
  const packages = EXTENSIONS.map((name) => `duckdb-extension-${name.replaceAll('_', '-')}`)
  const pinned = await Promise.all(packages.map(async (name) => `${name}==${await version()}`))
  return `python3 -m pip download --no-deps --quiet --dest ${folder} ${pinned.join(' ')}`
}

async function version(): Promise<string> {
  const instance = await DuckDBInstance.create(':memory:')
  const connection = await instance.connect()
  const [[found] = []] = (await connection.runAndReadAll("SELECT replace(version(), 'v', '')")).getRowsJson()
  connection.closeSync()
  instance.closeSync()
  return found as string
}

function ended(reason: string, line: string): never {
  console.error(`DuckDB's extensions are needed here: ${reason}`)
  console.error(`Get them with: ${line}`)
  console.error('then unpack the wheels, set TIDEMARK_EXTENSIONS to the directory, and run: npm run test:lake')
  process.exit(1)
}
