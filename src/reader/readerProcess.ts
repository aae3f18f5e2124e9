/** Starts a reader process with limited memory and limited time for each request. */
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { getCompileCacheDir } from 'node:module'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { systemClock as clock } from '../clock.ts'
import { parseByteSize } from '../units.ts'
import { asSyncError, SyncError } from '../errors.ts'
import { removeLeftovers } from '../folders.ts'
import { DAY_MS, toMillis } from '../instant.ts'
import type { TakeRows } from '../warehouse/database/duckdb.ts'
import type { Answer, More, Request } from './messages.ts'
import { onAbort } from '../signals.ts'
import { turns } from '../turns.ts'

const PROGRAM = fileURLToPath(new URL('./readerMain.ts', import.meta.url))
const MIB = 2 ** 20
const NODE_MEMORY = 384 * MIB
/** Added to the process's memory limit, because the kernel also counts memory that V8 reserves and does not use. */
const RESERVED_MEMORY = 512 * MIB
/** Each thread's stack is large enough for deeply nested statements. A larger one would use up the memory limit. */
const STACK_KIB = 4_096
/** Limits V8's heap, because one huge value that is converted to text could use up the memory of the machine. */
const FLAGS = ['--max-old-space-size=256']

interface ProcessLimits {
  readonly memory: string
  readonly isLake?: boolean
  readonly moreThreads?: number
}

export interface AskOptions {
  readonly take?: TakeRows
  readonly signal?: AbortSignal | undefined
  readonly limitMs: number
}

export class ReaderProcess {
  readonly folder: string
  readonly ended: Promise<SyncError>
  readonly #child: ChildProcess
  #waiting: PromiseWithResolvers<Answer> | undefined
  #reason: SyncError | undefined
  readonly #inTurn = turns()

  private constructor(folder: string, child: ChildProcess) {
    this.folder = folder
    this.#child = child
    let errorText = ''
    child.stderr?.on('data', (text: Buffer) => (errorText = (errorText + String(text)).slice(-500)))
    child.on('message', (answer: Answer) => this.#waiting?.resolve(answer))
    const end = Promise.withResolvers<SyncError>()
    this.ended = end.promise.then(async (reason) => {
      // If the folder cannot be removed now, a later start removes it.
      await rm(folder, { recursive: true, force: true }).catch(() => undefined)
      this.#waiting?.reject(reason)
      return reason
    })
    child.once('error', (error) => end.resolve(this.#reason ?? died(error.message)))
    child.once('exit', (code, signal) =>
      end.resolve(this.#reason ?? died(`${signal ?? ''} ${code ?? ''} ${errorText}`)),
    )
  }

  static async start(place: string, { memory, isLake = false, moreThreads = 0 }: ProcessLimits) {
    await removeLeftovers(`${place}.reader-`, toMillis(clock.now()) - DAY_MS).catch(() => undefined)
    const folder = await mkdtemp(`${place}.reader-`).catch(() => mkdtemp(path.join(tmpdir(), 'tidemark-reader-')))
    const bytes = (parseByteSize(memory) ?? 0) + NODE_MEMORY
    const program = [process.execPath, ...FLAGS, PROGRAM, folder, String(bytes)]
    const kib = Math.ceil((bytes + RESERVED_MEMORY) / 1_024) + moreThreads * STACK_KIB
    const limits = `ulimit -c 0; ulimit -s ${STACK_KIB}; ulimit -d ${kib}; exec "$0" "$@"`
    const hasLimits = process.platform === 'linux' && existsSync('/bin/sh')
    const [command = '', ...args] = hasLimits ? ['/bin/sh', '-c', limits, ...program] : program
    const cache = getCompileCacheDir()
    const variables = { MALLOC_ARENA_MAX: '2', ...(cache === undefined ? {} : { NODE_COMPILE_CACHE: cache }) }
    // The environment can contain secrets, and only a lake reader needs it.
    const env = isLake ? {} : { env: variables }
    try {
      const child = spawn(command, args, {
        cwd: folder,
        ...env,
        serialization: 'advanced',
        stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
        // Starts a process group of its own, so that Ctrl-C on the terminal does not end the reader process.
        detached: true,
      })
      return new ReaderProcess(folder, child)
    } catch (error) {
      await rm(folder, { recursive: true, force: true })
      throw error
    }
  }

  get isAlive(): boolean {
    return this.#child.connected
  }

  ask(request: Request, options: AskOptions): Promise<unknown> {
    return this.#inTurn(() => this.#exchange(request, options))
  }

  async kill(reason: SyncError): Promise<void> {
    this.#reason ??= reason
    this.#child.kill('SIGKILL')
    await this.ended
  }

  async #exchange(request: Request, { take, signal, limitMs }: AskOptions): Promise<unknown> {
    let message: Request | More = request
    let leftMs = limitMs
    using _ = signal && onAbort(signal, () => void this.kill(asSyncError(signal.reason)))
    for (;;) {
      const startedMs = clock.monotonicMs()
      const answer = await this.#answerTo(message, { leftMs, limitMs })
      leftMs -= clock.monotonicMs() - startedMs
      if ('failed' in answer) throw new SyncError(answer.failed.code, answer.failed.message, answer.failed)
      if ('done' in answer) return answer.done
      try {
        message = { more: (await take?.(answer.rows, answer.columns)) ?? false }
      } catch (error) {
        // The process waits for an answer, so it could run no other statement.
        await this.kill(asSyncError(error))
        throw error
      }
    }
  }

  async #answerTo(message: Request | More, { leftMs, limitMs }: Record<'leftMs' | 'limitMs', number>): Promise<Answer> {
    this.#waiting = Promise.withResolvers()
    const cancel = clock.after(leftMs, () => void this.kill(tookTooLong(limitMs)))
    if (this.isAlive) this.#child.send(message, () => undefined)
    else void this.ended.then((reason) => this.#waiting?.reject(reason))
    return this.#waiting.promise.finally(cancel)
  }
}

const died = (how: string): SyncError =>
  new SyncError('QUERY_FAILED', `the reader process has ended: ${how.trim()}`, {
    cure: 'If SIGKILL ended it, it needed more memory than limits.query_memory allows. Raise the limit, or read less at once.',
  })

const tookTooLong = (limitMs: number): SyncError =>
  new SyncError('QUERY_FAILED', `the statement took longer than ${limitMs / 1_000} s and was ended`, {
    cure: 'Read less at once, or raise limits.query_time.',
  })
