/** Another DuckDB in a process of its own: loads the extensions in LOAD, and runs the statements that it reads. */
import { createInterface } from 'node:readline'
import { DuckDBInstance } from '@duckdb/node-api'

const instance = await DuckDBInstance.create(':memory:')
const connection = await instance.connect()
for (const name of (process.env.LOAD ?? 'httpfs,quack').split(','))
  await connection.run(`LOAD '${process.env.TIDEMARK_EXTENSIONS}/${name}.duckdb_extension'`)

for await (const sql of createInterface({ input: process.stdin })) {
  try {
    const rows = (await connection.runAndReadAll(sql)).getRowObjectsJson()
    console.log(JSON.stringify({ rows }))
  } catch (error) {
    console.log(JSON.stringify({ error: error.message }))
  }
}
