/** The log on standard error: lines for people on a terminal, otherwise JSON. Secrets are masked. */
import { pino } from 'pino'
import { prettyFactory } from 'pino-pretty'
import { type Secret, spellingsOf } from './secret.ts'
import { AsyncLocalStorage } from 'node:async_hooks'

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent'

export interface LogLine {
  (message: string): void
  (fields: object, message?: string): void
}

export interface Log extends Readonly<Record<Exclude<LogLevel, 'silent'>, LogLine>> {
  child(fields: Readonly<Record<string, unknown>>): Log
}

export interface GuardedLog extends Log {
  /** Masks this secret in all later lines of this log and of its children. */
  guard(secret: Secret): void
}

export interface LogOptions {
  readonly level: LogLevel
  readonly destination?: { write(text: string): unknown }
  readonly pretty?: boolean
  /** Receives all lines from level `debug` up as masked JSON, even if they are not printed. */
  readonly keep?: ((line: string) => void) | undefined
}

const LEVEL_DEBUG = 20
const MASK = '[secret]'

const SECRET_FIELDS = [
  'secret',
  'clientSecret',
  'client_secret',
  'token',
  'accessToken',
  'access_token',
  'authorization',
  'Authorization',
  'password',
  'cookie',
]

/** Only lines with one of these fields are parsed. pino's option `redact` is slower, because it examines all fields. */
const SECRET_FIELD = new RegExp(`"(?:${SECRET_FIELDS.join('|')})":`)

/** Shorter secrets are not masked, because ordinary words can contain the same text. */
const GUARDED_LENGTH_MIN = 4

export function createLog({ level, destination, keep, pretty = process.stderr.isTTY }: LogOptions): GuardedLog {
  const guarded = new Set<string>()
  const target = destination ?? pino.destination({ dest: 2, sync: true })
  const shownFrom = pino.levels.values[level] ?? Infinity
  const hideObject = shownFrom > LEVEL_DEBUG
  const messageFormat = ({ msg, cure }: { msg?: string; cure?: string }) =>
    `${msg ?? ''}${hideObject && cure !== undefined ? `\n    what to do: ${cure}` : ''}`
  const colorize = destination === undefined
  const readable = pretty ? prettyFactory({ colorize, ignore: 'pid,hostname', hideObject, messageFormat }) : undefined
  const masking = {
    write: (line: string) => {
      const masked = withoutSecrets(line, guarded)
      keep?.(masked)
      if (keep !== undefined && levelOf(line) < shownFrom) return
      target.write(readable === undefined ? masked : readable(masked))
    },
  }
  const options = {
    level: keep === undefined || level === 'trace' ? level : 'debug',
    mixin: () => ({ ...runs.getStore() }),
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { err: pino.stdSerializers.errWithCause, error: pino.stdSerializers.errWithCause },
  }
  const guard = (secret: Secret) => {
    const text = secret.reveal()
    if (text.length >= GUARDED_LENGTH_MIN) for (const form of spellingsOf(text)) guarded.add(form)
  }
  return Object.assign(pino(options, masking), { guard })
}

const levelOf = (line: string): number => Number(/^\{"level":(\d+)/.exec(line)?.[1])

const CREDENTIALS_IN_ADDRESS = /(\b[a-z][a-z\d+.-]*:\/\/)[^\s"\\/@]*@/gi

function withoutSecrets(line: string, guarded: ReadonlySet<string>): string {
  const shown = SECRET_FIELD.test(line) ? withoutSecretFields(line) : line
  let masked = shown.replaceAll(CREDENTIALS_IN_ADDRESS, `$1${MASK}@`)
  for (const text of guarded) masked = masked.replaceAll(text, MASK)
  return masked
}

const withoutSecretFields = (line: string): string =>
  `${JSON.stringify(JSON.parse(line, (field, value: unknown) => (SECRET_FIELDS.includes(field) ? MASK : value)))}\n`

interface RunContext {
  readonly runId: string
  readonly report: string
}

const runs = new AsyncLocalStorage<RunContext>()

/** Adds the run's identifier and report to the log lines of `work`. */
export const inRun = <T>(context: RunContext, work: () => T): T => runs.run(context, work)
