/** The program of a reader process. It opens a copy, forbids access to files and network, and locks the settings. */
import { rmSync, utimesSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import path from 'node:path'
import { systemClock } from '../clock.ts'
import { asSyncError } from '../errors.ts'
import { HOUR_MS, SECOND_MS, toMillis } from '../instant.ts'
import { checkLayout } from '../warehouse/books/layout.ts'
import type { Cell } from '../warehouse/database/cells.ts'
import { Database } from '../warehouse/database/duckdb.ts'
import { openLake } from '../warehouse/database/lake.ts'
import { text } from '../warehouse/database/sql.ts'
import { checkStatement, createRule } from './allowList.ts'
import { type LiveServer, startLiveServer } from './liveServer.ts'
import type { Answer, More, OpenRequest, Request } from './messages.ts'
import { withNearestTable } from './tableTypos.ts'
import { warrantsOf } from './warrants.ts'

const MEMORY_CHECK_MS = 50

const [folder = '', memoryMax = ''] = process.argv.slice(2)
let database: Database
let server: LiveServer
let wanted: PromiseWithResolvers<boolean> | undefined

process.on('message', (message: Request | More) => {
  if ('more' in message) wanted?.resolve(message.more)
  else void answer(message)
})
// An ordinary exit would wait for a running statement.
process.on('disconnect', () => {
  rmSync(folder, { recursive: true, force: true })
  process.kill(process.pid, 'SIGKILL')
})
watchMemory()
keepFolder()

function watchMemory(): void {
  if (process.memoryUsage.rss() > Number(memoryMax)) process.kill(process.pid, 'SIGKILL')
  systemClock.after(MEMORY_CHECK_MS, watchMemory)
}

/** Renews the folder's modification time: other processes remove folders that were not modified for a day. */
function keepFolder(): void {
  const now = toMillis(systemClock.now()) / SECOND_MS
  utimesSync(folder, now, now)
  systemClock.after(HOUR_MS, keepFolder)
}

async function answer(request: Request): Promise<void> {
  try {
    send({ done: await perform(request) })
  } catch (error) {
    const { code, message, cure, data } = asSyncError(error)
    send({ failed: { code, message, cure, data } })
  }
}

const send = (message: Answer): unknown => process.send?.(message)

async function perform(request: Request): Promise<unknown> {
  if (request.do === 'open') database = await openLocked(request)
  else if (request.do === 'serve') server = await startLiveServer(request.settings, folder)
  else if (request.do === 'show') await server.show()
  else if (request.do === 'oldestStatementMs') return server.oldestStatementMs()
  else {
    return readRows(request).catch(async (error: unknown) => {
      throw await withNearestTable(database, asSyncError(error))
    })
  }
  return undefined
}

async function readRows(request: Extract<Request, { readonly sql: string }>): Promise<unknown> {
  await checkStatement(database, request.sql)
  if (request.do === 'write') return database.writeParquet(request.sql, request.result)
  let isCut = false
  let charsLeft = request.charsMax ?? Infinity
  const columns = await database.query(request.sql, async (rows, names) => {
    const fitting = rows.findIndex((row) => (charsLeft -= charsOf(row)) < 0)
    isCut = fitting >= 0
    return (await sendRows(isCut ? rows.slice(0, fitting) : rows, names)) && !isCut
  })
  return { columns, warrants: await warrantsOf(database, request.sql), isCut }
}

function sendRows(rows: readonly (readonly Cell[])[], columns: readonly string[]): Promise<boolean> {
  wanted = Promise.withResolvers()
  send({ rows, columns })
  return wanted.promise
}

const VALUE_OVERHEAD_CHARS = 10

const charsOf = (row: readonly Cell[]): number =>
  row.reduce((sum, cell) => sum + VALUE_OVERHEAD_CHARS + (cell?.text.length ?? 0), 0)

async function openLocked({ source, result, ...limits }: OpenRequest): Promise<Database> {
  const options = { ...limits, readOnly: true, spillDirectory: path.join(folder, 'spill') }
  const opened = await (typeof source === 'string' ? Database.open(source, options) : openLake(source, options))
  await checkLayout(opened)
  await createRule(opened)
  if (typeof source !== 'string') await opened.run(`SET allowed_directories = [${text(source.data)}]`)
  if (result !== undefined) await opened.run(`SET allowed_paths = [${text(result)}]`)
  await opened.run('SET enable_external_access = false')
  await opened.run('SET lock_configuration = true')
  // Node saves compiled code only at an ordinary exit, but this process gets killed.
  flushCompileCache()
  return opened
}
