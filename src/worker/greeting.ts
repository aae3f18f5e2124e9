/** The text that a worker prints when it starts: its roles, its addresses, and the schedule of each report. */
import { reportNames } from '../../schema/index.ts'
import type { Config, ReportConfig, Rhythm } from '../config/config.ts'
import { isCron } from '../config/cron.ts'
import { lakeName } from '../warehouse/database/lake.ts'
import type { Role } from './roles.ts'

export function greeting(config: Config, roles: ReadonlySet<Role>): string {
  const lines: [string, string][] = [
    ['roles', [...roles].join(', ')],
    ['queue', queueText(config)],
    ['service', config.service.baseUrl.href],
    ['warehouse', config.lake === undefined ? config.warehouse : lakeName(config.lake)],
    ...(config.lake === undefined ? [['published', config.published] as [string, string]] : []),
    ...(config.serve === undefined
      ? []
      : [['serve', `quack:${config.serve.host}:${config.serve.port}`] as [string, string]]),
    ...reportNames.map((report): [string, string] => [report, rhythmText(config.reports[report])]),
  ]
  const width = Math.max(...lines.map(([name]) => name.length))
  return `${lines.map(([name, text]) => `${name.padEnd(width)}  ${text}`).join('\n')}\n`
}

/** Returns the queue's address without user name and password. */
function queueText({ queue, warehouse }: Config): string {
  if (queue === 'embedded') return `embedded, in ${warehouse}.queue`
  const { protocol, host, pathname } = new URL(queue)
  return `${protocol}//${host}${pathname}`
}

function rhythmText({ enabled, offReason, timeZone, reconcile, ...rhythm }: ReportConfig): string {
  if (!enabled) return `off: ${offReason ?? 'by configuration'}`
  const parts = [everyText(rhythm, timeZone), ...(reconcile ? [`reconciled ${everyText(reconcile, timeZone)}`] : [])]
  return parts.join(', ')
}

const everyText = ({ every }: Rhythm, timeZone: string): string =>
  isCron(every) ? `at ${every} (${timeZone})` : `every ${every}`
