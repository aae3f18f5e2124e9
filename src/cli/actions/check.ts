/** `tidemark check`: runs every check and prints a table of their findings. */
import { createLog } from '../../log.ts'
import { checkConfiguration, checkPublished, checkWarehouse } from '../check/files.ts'
import { checkConsole } from '../check/console.ts'
import { checkDisk } from '../check/disk.ts'
import { type Finding, findingsText, hasFailed } from '../check/finding.ts'
import { checkOverlap } from '../check/lateness.ts'
import { checkNetwork } from '../check/network.ts'
import { checkQueue } from '../check/queue.ts'
import { resumeChecked } from '../check/resumed.ts'
import { checkService } from '../check/service.ts'
import { clientOf } from '../../wiring/openContext.ts'
import type { ExitCode, Shell } from '../shell.ts'
import type { CommandOptions } from '../voices.ts'
import { logLevelOf } from '../../wiring/workLog.ts'

/** Maximum attempts per request. A run makes more of them, but here a person waits for the result. */
const ATTEMPTS_MAX = 2

export async function check(shell: Shell, { config, json = false }: CommandOptions): Promise<ExitCode> {
  const { out, clock, stop } = shell
  await using client = clientOf(config, {
    clock,
    log: createLog({ level: logLevelOf(shell.env, 'error') }),
    attemptsMax: ATTEMPTS_MAX,
  })
  const findings: Finding[] = [
    checkConfiguration(config),
    await checkNetwork(config, clock),
    ...(await checkService({ config, client, clock, signal: stop.signal })),
    ...(await checkQueue(config, clock)),
    checkConsole(config),
    await checkWarehouse(config),
    await checkDisk(config),
    await checkPublished(config),
    ...(await checkOverlap(config)),
  ]
  findings.push(...(await resumeChecked(shell, config, findings)))
  if (json) {
    const checks = findings.map(({ verdict, ...rest }) => ({ ...rest, result: verdict }))
    out.write(`${JSON.stringify({ ok: !hasFailed(findings), checks }, undefined, 2)}\n`)
  } else out.write(findingsText(findings))
  return hasFailed(findings) ? 1 : 0
}
