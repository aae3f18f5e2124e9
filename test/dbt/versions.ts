/** Older and newer DuckDBs, and the notebook of docs/tasks/analyst-questions.md, on a published copy. */
import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import { documents } from '../rules/markdown.ts'
import { aPython, type Python } from './python.ts'

const run = promisify(execFile)

/** Prints one line per table or view: name, rows, and length of the rows as text, without the lag, which grows. */
const READ_ALL = `
import duckdb, sys
with duckdb.connect(sys.argv[1], read_only=True) as copy:
    names = copy.execute("""SELECT schema_name, table_name FROM duckdb_tables() UNION ALL
        SELECT schema_name, view_name FROM duckdb_views() WHERE NOT internal ORDER BY ALL""").fetchall()
    for schema, table in names:
        columns = '* EXCLUDE (lag)' if table == 'freshness' else '*'
        rows = copy.execute(f'SELECT {columns} FROM "{schema}"."{table}" ORDER BY ALL').fetchall()
        print(schema, table, len(rows), sum(map(len, map(str, rows))))
`

const CACHED = `
import duckdb, os, sys
copy, newer = sys.argv[1:]
count = lambda opened: opened.execute("SELECT max(load_id) FROM tidemark.loads").fetchone()[0]
first = duckdb.connect(copy, read_only=True)
before = count(first)
os.replace(newer, copy)
second = duckdb.connect(copy, read_only=True)
assert count(second) == before, "a second connection shows the newer copy although the first one is open"
first.close(); second.close()
with duckdb.connect(copy, read_only=True) as third:
    assert count(third) > before, "a connection after all were closed shows the old copy"
`

const WITHOUT_PYTZ = `
import sys
sys.modules["pytz"] = None
import duckdb
try:
    duckdb.connect(sys.argv[1], read_only=True).execute("SELECT mark FROM tidemark.freshness").fetchall()
except Exception as error:
    assert "pytz" in str(error), error
else:
    raise AssertionError("times are read without pytz")
`

const python = async ({ bin }: Python, program: string, ...words: string[]): Promise<string> =>
  (await run(path.join(bin, 'python'), ['-c', program, ...words])).stdout

/** Returns the versions that read the same rows from all tables. Throws if one reads other rows. */
export async function readWithVersions(present: Python, published: string): Promise<string> {
  const expected = await python(present, READ_ALL, published)
  const read: string[] = []
  for (const file of ['requirements-oldest.txt', 'requirements-newest.txt']) {
    const other = await aPython(path.join(import.meta.dirname, file))
    if (typeof other === 'string') throw new TypeError(`${file}: ${other}`)
    const rows = await python(other, READ_ALL, published)
    if (rows !== expected) throw new TypeError(`${file} reads other rows:\n${rows}\ninstead of\n${expected}`)
    read.push((await python(other, 'import duckdb; print(duckdb.__version__)')).trim())
  }
  return `DuckDB ${read.join(' and ')} read the same rows from ${expected.trim().split('\n').length} tables and views`
}

/** Runs the notebook that the document shows, and each trap that it warns of. `newer` then replaces the copy. */
export async function readInNotebook(having: Python, { published, newer }: { published: string; newer: string }) {
  const notebook = documents()
    .flatMap(({ blocks }) => blocks)
    .find(({ kind }) => kind === 'python notebook')
  const program = `import sys\nCOPY = sys.argv[1]\n${notebook?.text ?? 'raise KeyError'}\nprint(mark, len(fees))\n`
  const answer = await python(having, program, published)
  if (!/^\[\(datetime.*\)\] [1-9]/.test(answer)) throw new TypeError(`the notebook printed ${answer}`)
  await python(having, WITHOUT_PYTZ, published)
  await python(having, CACHED, published, newer)
}
