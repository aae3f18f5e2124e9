/** `tidemark logs`: prints the log lines of one run, from the files next to the warehouse. */
import { access, constants } from 'node:fs/promises'
import { isReportName } from '../../../schema/index.ts'
import { SyncError, usageError } from '../../errors.ts'
import { isThere, ownFileRefused } from '../../folders.ts'
import { lastRunOf, linesOfRuns, type RunLine, runLogsOf } from '../../runLogs.ts'
import type { Action, CommandOptions } from '../shell.ts'

export const logs: Action<CommandOptions, string> = async (shell, { config, json = false }, name) => {
  const directory = runLogsOf(config.warehouse)
  if (isThere(directory)) await requireReadable(directory)
  const runId = isReportName(name) ? await lastRunOf(directory, name) : name
  const isRun = runId !== undefined && runId.length >= RUN_CHARS_MIN
  const lines = isRun ? await linesOfRuns(directory, runId) : []
  const runs = new Set(lines.map((line) => line.runId))
  if (runs.size > 1) throw usageError(`${runs.size} runs begin with ${name}`, `Name one: ${[...runs].join(', ')}`)
  if (lines.length === 0) throw noLines(name, directory)
  shell.out.write(lines.map((line) => (json ? `${JSON.stringify(line)}\n` : lineText(line))).join(''))
  return 0
}

/** The shortest accepted start of a run's identifier. The console shows only these 8 characters. */
const RUN_CHARS_MIN = 8

/** Throws if the folder of the logs cannot be read. Without this check, the command would print an empty log. */
async function requireReadable(directory: string): Promise<void> {
  await access(directory, constants.R_OK | constants.X_OK).catch((error: unknown) => {
    throw ownFileRefused(directory, error)
  })
}

const LEVELS: Readonly<Record<number, string>> = { 10: 'trace', 20: 'debug', 30: 'info', 40: 'warn', 50: 'error' }

function lineText({ time, level, msg, cure }: RunLine): string {
  const said = `${time.slice(0, 23).replace('T', ' ')} ${(LEVELS[level] ?? '').padEnd(5)} ${msg}\n`
  return typeof cure === 'string' ? `${said}${' '.repeat(30)}what to do: ${cure}\n` : said
}

const noLines = (name: string, directory: string): SyncError =>
  new SyncError('USAGE_INVALID', `${directory} contains no log line of ${name}`, {
    cure: 'Name a report, or a run: tidemark query "SELECT run_id, report, state FROM tidemark.runs ORDER BY started_at DESC LIMIT 10". Log lines are kept for runs on this machine, for the time in the setting history.',
  })
