/**
 * The log: pino on standard error, readable on a terminal and JSON elsewhere. `Secret` keeps secrets out of the log;
 * this is the second wall behind it: fields with telling names are masked, and so is every guarded text, wherever in a
 * line it stands and however it is encoded.
 */
import { pino } from 'pino'
import { prettyFactory } from 'pino-pretty'
import { runNow } from './runContext.ts'
import type { Secret } from './secret.ts'

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent'

export interface LogLine {
  (message: string): void
  /** Fields first; an error goes in as `{ err }`. */
  (fields: object, message?: string): void
}

export interface Log {
  readonly trace: LogLine
  readonly debug: LogLine
  readonly info: LogLine
  readonly warn: LogLine
  readonly error: LogLine
  /** Every line of the child carries `fields`: the run, the report. */
  child(fields: Readonly<Record<string, unknown>>): Log
}

export interface GuardedLog extends Log {
  /** From now on no line, of this log or any child, holds this secret's text. */
  guard(secret: Secret): void
}

export interface LogOptions {
  readonly level: LogLevel
  /** Where lines go; standard error unless a test listens. */
  readonly destination?: { write(text: string): unknown }
  /** For people rather than machines; says itself whether standard error is a terminal. */
  readonly pretty?: boolean
  /** Takes every line from `debug` up as JSON, whatever the level, masked like the rest. */
  readonly keep?: ((line: string) => void) | undefined
}

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

/** pino looks no deeper than it is told to; what lies deeper is for the guarded texts. */
const SECRET_PATHS = SECRET_FIELDS.flatMap((field) => [field, `*.${field}`, `*.*.${field}`, `*.*.*.${field}`])

/** Shorter texts are no secrets, and masking them would tear words apart. */
const GUARDED_LENGTH_MIN = 4

export function createLog({ level, destination, keep, pretty = process.stderr.isTTY }: LogOptions): GuardedLog {
  const guarded = new Set<string>()
  const target = destination ?? pino.destination({ dest: 2, sync: true })
  const readable = pretty ? prettyFactory({ colorize: destination === undefined, ignore: 'pid,hostname' }) : undefined
  const shownFrom = pino.levels.values[level] ?? Infinity
  const wall = {
    write: (line: string) => {
      const masked = withoutSecrets(line, guarded)
      keep?.(masked)
      if (keep !== undefined && levelOf(line) < shownFrom) return
      target.write(readable === undefined ? masked : readable(masked))
    },
  }
  const options = {
    level: keep === undefined || level === 'trace' ? level : 'debug',
    mixin: () => ({ ...runNow() }),
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: { paths: SECRET_PATHS, censor: MASK },
    serializers: { err: pino.stdSerializers.errWithCause, error: pino.stdSerializers.errWithCause },
  }
  const guard = (secret: Secret) => {
    for (const form of formsOf(secret.reveal())) guarded.add(form)
  }
  return Object.assign(pino(options, wall), { guard })
}

/** A line begins with it. */
const levelOf = (line: string): number => Number(/^\{"level":(\d+)/.exec(line)?.[1])

/** Addresses with credentials in them (a queue's, a proxy's) are masked without being told. */
const CREDENTIALS_IN_ADDRESS = /(\b[a-z][a-z\d+.-]*:\/\/)[^\s"\\/@]*@/gi

function withoutSecrets(line: string, guarded: ReadonlySet<string>): string {
  let masked = line.replaceAll(CREDENTIALS_IN_ADDRESS, `$1${MASK}@`)
  for (const text of guarded) masked = masked.replaceAll(text, MASK)
  return masked
}

/**
 * As it is, inside JSON (once and twice), in an address or form, and in base64; longest first, so that none leaves a
 * rest.
 */
function formsOf(text: string): readonly string[] {
  if (text.length < GUARDED_LENGTH_MIN) return []
  const inJson = insideJson(text)
  const inForm = new URLSearchParams([['', text]]).toString().slice(1)
  const base64 = Buffer.from(text).toString('base64')
  const forms = [text, inJson, insideJson(inJson), encodeURIComponent(text), inForm, base64, base64.replaceAll('=', '')]
  return forms.toSorted((a, b) => b.length - a.length)
}

const insideJson = (text: string): string => JSON.stringify(text).slice(1, -1)
