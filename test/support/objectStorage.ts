/**
 * An S3-compatible server for the tests of lakes: versitygw from the PATH, or built once with Go. Without it, the run
 * fails: tests are never skipped.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ROOT } from '../rules/source.ts'
import { freePort, programOnPath, startTied } from './programsOnPath.ts'

const MODULE = 'github.com/versity/versitygw/cmd/versitygw@v1.8.0'
const BUILT = join(ROOT, 'node_modules/.cache/versitygw')
const START_MS_MAX = 60_000

export const BUCKET = 'lake'
/** The access keys of the started servers. */
export const STORAGE_ENV = { AWS_ACCESS_KEY_ID: 'tide', AWS_SECRET_ACCESS_KEY: 's3cret-marked-hunter3' } as const

export interface ObjectStorage extends AsyncDisposable {
  readonly port: number
  readonly endpoint: string
  /** Each object of the bucket is a file in this folder. */
  readonly files: string
  /** Kills the server. Its objects stay. */
  stop(): Promise<void>
  start(): Promise<void>
}

const find = (): string | undefined => programOnPath('versitygw', [BUILT, join(homedir(), 'go/bin')])

/** Builds the server if there is none. */
export function needStorage(): void {
  if (find() !== undefined) return
  const go = programOnPath('go', ['/usr/local/go/bin'])
  const line = `GOBIN=${BUILT} go install ${MODULE}`
  try {
    if (go === undefined) throw new TypeError('there is no Go (https://go.dev/dl)')
    console.error(`The lake tests need versitygw. Building, which takes some minutes: ${line}`)
    mkdirSync(BUILT, { recursive: true })
    execFileSync(go, ['install', MODULE], { env: { ...process.env, GOBIN: BUILT }, stdio: 'pipe' })
  } catch (error) {
    console.error(`versitygw, the object storage of the lake tests, is needed here: ${String(error)}`)
    console.error(`Get it with: ${line}`)
    console.error('or put versitygw on the PATH, and run: npm run test:lake')
    process.exit(1)
  }
}

export interface StorageOptions {
  /** The folder of another server, to serve the same objects. */
  readonly root?: string
  readonly flags?: readonly string[]
}

/** Starts a server with one empty bucket. */
export async function startStorage({ root, flags = [] }: StorageOptions = {}): Promise<ObjectStorage> {
  const folder = root ?? (await mkdtemp(join(tmpdir(), 'tidemark-storage-')))
  const files = join(folder, BUCKET)
  if (!existsSync(files)) mkdirSync(files)
  const port = await freePort()
  const { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret } = STORAGE_ENV
  const keys = ['--access', id, '--secret', secret]
  const command = [find() ?? '', '--quiet', '--port', `127.0.0.1:${port}`, ...keys, ...flags, 'posix', folder]
  let server = startTied(command, { dyingSignal: 'KILL' })
  const stop = () => server.stop('SIGKILL')
  await answers(port, server.output)
  return {
    port,
    endpoint: `http://127.0.0.1:${port}`,
    files,
    stop,
    start: async () => {
      server = startTied(command, { dyingSignal: 'KILL' })
      await answers(port, server.output)
    },
    [Symbol.asyncDispose]: async () => {
      await stop()
      if (root === undefined) await rm(folder, { recursive: true, force: true })
    },
  }
}

async function answers(port: number, output: () => string): Promise<void> {
  for (let waitedMs = 0; waitedMs < START_MS_MAX; waitedMs += 50) {
    const socket = connect(port, '127.0.0.1')
    const isOpen = await new Promise<boolean>((resolve) => {
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    })
    socket.destroy()
    if (isOpen) return
    await sleep(50)
  }
  throw new TypeError(`versitygw does not start: ${output()}`)
}
