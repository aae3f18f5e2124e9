/** Opens an embedded queue in a process of its own, works with it for a moment, and prints the process's peak memory in MB. */
import { EmbeddedPool } from '../../../jobs/stores/embeddedPool.ts'
import { systemClock } from '../../../src/clock.ts'

const [directory = ''] = process.argv.slice(2)
const onError = (error: unknown) => {
  throw error
}
const pool = await EmbeddedPool.open({ directory, schema: 'tide', clock: systemClock, onError })
await pool.query('CREATE TABLE jobs (id integer, data text)')
await pool.query('INSERT INTO jobs SELECT n, md5(n::text) FROM generate_series(1, 1000) n')
for (let n = 1; n <= 300; n += 1) await pool.query('SELECT count(*) FROM jobs WHERE id > $1', [n])
await pool.end()
process.stdout.write(String(Math.round(process.resourceUsage().maxRSS / 1_024)))
