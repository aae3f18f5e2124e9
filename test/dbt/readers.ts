/**
 * Readers that are not ours, in processes of their own, on a copy that is being replaced: Python's DuckDB, DuckDB's
 * CLI, Node's.
 */
import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import type { Python } from './python.ts'

const run = promisify(execFile)

/** One cut: the books and the rows name the same last load that wrote events. */
const CUT = `SELECT (SELECT max(load_id) FROM tidemark.loads WHERE report = 'events' AND inserted + updated > 0) - (SELECT max(_load_id) FROM main.events) AS apart`

const PYTHON = `
import duckdb, sys, time
path, seconds = sys.argv[1], float(sys.argv[2])
first = duckdb.connect(path, read_only=True)
begin = first.execute("SELECT max(load_id) FROM tidemark.loads").fetchone()
opened, until = 0, time.monotonic() + seconds
while time.monotonic() < until or opened < 5:
    with duckdb.connect(path, read_only=True) if opened else first.cursor() as copy:
        assert copy.execute("${CUT}").fetchone() == (0,), "torn"
    opened += 1
assert first.execute("SELECT max(load_id) FROM tidemark.loads").fetchone() == begin, "an old handle moved"
print(opened)
`

/** How often each opened the copy; rejects with what a reader met. */
export async function readWithPython({ bin }: Python, published: string, seconds: number): Promise<number> {
  const { stdout } = await run(path.join(bin, 'python'), ['-c', PYTHON, published, String(seconds)])
  return Number(stdout)
}

export async function readWithCli({ bin }: Python, published: string, times: number): Promise<number> {
  for (let time = 0; time < times; time += 1) {
    const { stdout } = await run(path.join(bin, 'duckdb'), ['-readonly', '-csv', '-noheader', published, CUT])
    if (stdout.trim() !== '0') throw new TypeError(`the DuckDB CLI read ${stdout.trim()}`)
  }
  return times
}

const NODE = `
import { DuckDBInstance } from '@duckdb/node-api'
const [path, times] = [process.argv[1], Number(process.argv[2])]
for (let time = 0; time < times; time += 1) {
  const instance = await DuckDBInstance.create(path, { access_mode: 'READ_ONLY' })
  const connection = await instance.connect()
  const [[apart]] = (await connection.runAndReadAll(\`${CUT}\`)).getRowsJson()
  if (Number(apart) !== 0) throw new Error('torn')
  connection.closeSync()
  instance.closeSync()
}`

export async function readWithNode(published: string, times: number): Promise<number> {
  const args = ['--input-type=module', '-e', NODE, published, String(times)]
  await run(process.execPath, args, { cwd: import.meta.dirname })
  return times
}
