/** Tidemark and the programs that it is compared with, behind one interface: sync once, and return the stored rows. */
import { execFile } from 'node:child_process'
import { access } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startTide } from '../programs/start.ts'
import type { Done, Order } from '../programs/tide.ts'

const run = promisify(execFile)
const HERE = fileURLToPath(new URL('.', import.meta.url))
const ENVIRONMENTS = process.env['BENCH_PEERS'] ?? join(tmpdir(), 'tidemark-bench', 'peers')
const OUTPUT_BYTES_MAX = 512 * 1024 * 1024

export interface PeerRun {
  readonly ms: number
  readonly peakMb: number
}

export interface Runner extends AsyncDisposable {
  sync(): Promise<PeerRun>
  held(): Promise<readonly string[]>
}

export interface Peer {
  readonly name: string
  /** More rows would need more memory than a usual machine has. */
  readonly rowsMax?: number
  /** Returns why the program can't run on this machine. */
  prepare(): Promise<string | undefined>
  open(url: string, folder: string): Promise<Runner>
}

const HELD_SQL = `
  SELECT string_agg(concat_ws(',', e.event_id, epoch_us(e.aggregate_record_modified) // 1000, coalesce(m.items, 0), coalesce(a.items, 0)), ';') AS held
  FROM events e
  LEFT JOIN (SELECT event_id, count(*) AS items FROM events__meeting_rooms WHERE NOT is_deleted GROUP BY 1) m USING (event_id)
  LEFT JOIN (SELECT event_id, count(*) AS items FROM events__assignments WHERE NOT is_deleted GROUP BY 1) a USING (event_id)`

const tidemark: Peer = {
  name: 'tidemark',
  prepare: () => Promise.resolve(undefined),
  // The other programs also start one process for each sync.
  open: (url, folder) => {
    const once = async (order: Order): Promise<Done> => {
      await using tide = await startTide({ url, folder, expand: ['meetingRooms', 'assignments'] })
      return await tide.order(order)
    }
    return Promise.resolve({
      sync: () => once({ do: 'sync', reports: ['events'] }),
      held: async () => {
        const { rows } = await once({ do: 'rows', sql: HELD_SQL })
        const [all] = (rows ?? []) as { held: string }[]
        return all?.held.split(';') ?? []
      },
      [Symbol.asyncDispose]: () => Promise.resolve(),
    })
  },
}

/** The adapter is `<program>_peer.py` in this folder. */
function inPython({ name, program, option = '', rowsMax }: PythonPeer): Peer {
  const python = join(ENVIRONMENTS, program, 'bin', 'python')
  const carryOut = async (...words: string[]): Promise<readonly string[]> => {
    const adapter = join(HERE, `${program}_peer.py`)
    const { stdout } = await run(python, [adapter, ...words, option], { maxBuffer: OUTPUT_BYTES_MAX })
    return stdout.trim().split('\n')
  }
  return {
    name,
    ...(rowsMax === undefined ? {} : { rowsMax }),
    prepare: () => environment(program, python),
    open: (url, folder) =>
      Promise.resolve({
        sync: async () => JSON.parse((await carryOut('sync', url, folder)).at(-1) ?? '{}') as PeerRun,
        held: () => carryOut('dump', url, folder),
        [Symbol.asyncDispose]: () => Promise.resolve(),
      }),
  }
}

async function environment(name: string, python: string): Promise<string | undefined> {
  try {
    await access(python)
    return undefined
  } catch {
    // The Python environment does not exist yet.
  }
  try {
    await run('python3', ['-m', 'venv', join(ENVIRONMENTS, name)])
    await run(python, ['-m', 'pip', 'install', '--quiet', '-r', join(HERE, `requirements-${name}.txt`)])
    return undefined
  } catch (error) {
    return `no Python with a package index here (${(error as Error).message.split('\n')[0] ?? ''})`
  }
}

interface PythonPeer {
  readonly name: string
  readonly program: string
  /** The last argument of the adapter. */
  readonly option?: string
  readonly rowsMax?: number
}

export const peers: readonly Peer[] = [
  tidemark,
  inPython({ name: 'dlt', program: 'dlt', option: 'parquet' }),
  inPython({ name: 'dlt (insert_values)', program: 'dlt', option: 'insert_values', rowsMax: 10_000 }),
  inPython({ name: 'airbyte', program: 'airbyte' }),
]
