/**
 * A PostgreSQL server for tests, in a temporary folder. PostgreSQL refuses to run as root, so root starts it as another
 * user.
 */
import { execFileSync } from 'node:child_process'
import { chownSync, readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { freePort, programOnPath, type Started, startTied } from './programsOnPath.ts'

const START_MS_MAX = 120_000
/** Debian installs the programs here, not on the PATH. */
const DEBIAN = '/usr/lib/postgresql'

export interface PostgresServer extends AsyncDisposable {
  readonly url: string
  /** Creates an empty database and returns its connection string. */
  newDatabase(): Promise<string>
  stop(): Promise<void>
  /** Kills the server and starts it again with the same data. */
  restart(): Promise<void>
}

interface Programs {
  readonly initdb: string
  readonly postgres: string
}

/** Returns undefined if PostgreSQL is not installed. */
export function findPostgres(): Programs | undefined {
  const folders = versionsIn(DEBIAN).map((version) => join(DEBIAN, version, 'bin'))
  const initdb = programOnPath('initdb', folders)
  const postgres = programOnPath('postgres', folders)
  return initdb === undefined || postgres === undefined ? undefined : { initdb, postgres }
}

/** Throws with the package to install if there is none. */
export function startPostgresHere(): Promise<PostgresServer> {
  const programs = findPostgres()
  if (programs === undefined)
    throw new TypeError('no PostgreSQL is here: install it (Debian: apt-get install postgresql)')
  return startPostgres(programs)
}

/** Creates a cluster and starts it. */
export async function startPostgres({ initdb, postgres }: Programs): Promise<PostgresServer> {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-postgres-'))
  const user = process.getuid?.() === 0 ? unprivileged() : undefined
  if (user !== undefined) chownSync(folder, user.uid, user.gid)
  const data = join(folder, 'data')
  const options = { ...user, cwd: folder, env: { ...process.env, LC_ALL: 'C' }, stdio: 'pipe' as const }
  execFileSync(initdb, ['-D', data, '-U', 'tidemark', '--auth=trust', '-E', 'UTF8', '--no-sync'], options)
  const port = await freePort()
  const command = [postgres, '-D', data, '-p', String(port), '-h', '127.0.0.1', '-k', '', '-F']
  const url = `postgres://tidemark@127.0.0.1:${port}/postgres`
  const start = async () => {
    const started = startTied(command, { dyingSignal: 'QUIT', user })
    await answers(url, started)
    return started
  }
  let started = await start()
  const stop = async () => {
    await started.stop('SIGQUIT')
    await rm(folder, { recursive: true, force: true })
  }
  let databases = 0
  return {
    url,
    newDatabase: async () => {
      const name = `own_${(databases += 1)}`
      const client = new Client({ connectionString: url })
      await client.connect()
      await client.query(`CREATE DATABASE ${name}`)
      await client.end()
      return `host=127.0.0.1 port=${port} user=tidemark dbname=${name}`
    },
    stop,
    restart: async () => {
      await started.stop('SIGQUIT')
      started = await start()
    },
    [Symbol.asyncDispose]: stop,
  }
}

async function answers(url: string, { child, output }: Started): Promise<void> {
  for (let waitedMs = 0; waitedMs < START_MS_MAX; waitedMs += 50) {
    if (child.exitCode !== null) break
    const client = new Client({ connectionString: url })
    client.on('error', () => undefined)
    try {
      await client.connect()
      return await client.end()
    } catch {
      await sleep(50)
    }
  }
  throw new TypeError(`postgres does not start: ${output()}`)
}

function unprivileged(): { uid: number; gid: number } {
  const users = readFileSync('/etc/passwd', 'utf8').split('\n')
  const line = ['postgres', 'nobody'].map((name) => users.find((each) => each.startsWith(`${name}:`))).find(Boolean)
  const [, , uid, gid] = (line ?? '').split(':')
  return { uid: Number(uid ?? 65_534), gid: Number(gid ?? 65_534) }
}

function versionsIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder).toSorted((a, b) => Number(b) - Number(a))
  } catch {
    return []
  }
}
