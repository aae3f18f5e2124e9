/** Starts test/sync/programs in a process of its own, on a folder of its own, against a sandbox of the test. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Config, loadConfig } from '../../src/config/config.ts'
import { COMPILED } from '../support/compiled.ts'

const PROGRAM = fileURLToPath(new URL('programs/syncOnce.ts', import.meta.url))
const SECRET = { REPORTING_CLIENT_SECRET: 'demo-secret' }

export interface Place extends AsyncDisposable {
  readonly folder: string
  readonly config: Config
}

/** A folder with a configuration; `settings` as in tidemark.yaml. */
export async function aPlace(url: string, settings: Record<string, unknown> = {}): Promise<Place> {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-'))
  const yaml = {
    service: { base_url: url, client_id: 'demo' },
    warehouse: './warehouse.duckdb',
    currencies: ['EUR'],
    ...settings,
  }
  await writeFile(join(folder, 'tidemark.yaml'), JSON.stringify(yaml))
  const config = await loadConfig({ cwd: folder, env: SECRET })
  return { folder, config, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) }
}

export interface Told {
  readonly outcomes?: readonly {
    readonly report: string
    readonly state: string
    readonly error?: { readonly code: string; readonly message: string; readonly cure: string }
  }[]
  readonly error?: { readonly code: string; readonly message: string; readonly cure: string }
  readonly peakBytes: number
}

export interface OwnProcess {
  readonly child: ChildProcess
  /** The warehouse is open and the run begins; or the process ended before. */
  readonly started: Promise<unknown>
  /** What it told at its end; undefined when it was killed. */
  readonly ended: Promise<Told | undefined>
}

export function startSync({ folder }: Place, reports: readonly string[] = []): OwnProcess {
  const { PATH = '' } = process.env
  const wanted = reports.length === 0 ? {} : { TIDEMARK_TEST_REPORTS: reports.join(',') }
  const child = spawn(process.execPath, ['--no-warnings', PROGRAM], {
    env: { PATH, NODE_COMPILE_CACHE: COMPILED, ...SECRET, TIDEMARK_TEST_FOLDER: folder, ...wanted },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  child.stdout.setEncoding('utf8')
  const exited = once(child, 'close')
  const started = Promise.race([once(child.stdout, 'data'), exited])
  child.stdout.on('data', (text: string) => {
    output += text
  })
  const ended = exited.then(() => {
    const last = output.trimEnd().split('\n').at(-1) ?? ''
    return last.includes('peakBytes') ? (JSON.parse(last) as Told) : undefined
  })
  return { child, started, ended }
}
