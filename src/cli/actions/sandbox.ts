/** `tidemark sandbox`: serves a local reporting service until it is stopped. */
import { reports } from '../../../schema/index.ts'
import { loadOwnReports } from '../../config/ownReports.ts'
import { declarationsInvalid } from '../../config/problems.ts'
import { asSyncError } from '../../errors.ts'
import { type Sandbox, type SandboxOptions, startSandbox } from '../../library/index.ts'
import { PORT_PREFERRED } from '../commandEntry.ts'
import type { Action } from '../shell.ts'

type SandboxOption = 'rows' | 'seed' | 'port' | 'changesPerSecond' | 'eventShape' | 'pageSizeMax' | 'compress'

export interface ServeOptions extends Pick<SandboxOptions, SandboxOption> {
  readonly fault: readonly string[]
  readonly reportsFrom: readonly string[]
  readonly tokenLifetime?: number
  readonly json?: boolean
}

export const sandbox: Action<ServeOptions> = async (shell, { json, ...options }) => {
  shell.stop.endsWell()
  await using running = await start(shell.cwd, options)
  shell.out.write(json === true ? `${JSON.stringify(ready(running))}\n` : greeting(running, options))
  await shell.stop.requested()
  return 0
}

async function start(cwd: string, options: Omit<ServeOptions, 'json'>): Promise<Sandbox> {
  const { port, fault: faults, tokenLifetime: tokenLifetimeSeconds, reportsFrom, ...rest } = options
  const problems = await loadOwnReports(reportsFrom, cwd)
  if (problems.length > 0) throw declarationsInvalid(problems)
  const given: SandboxOptions = { ...rest, declared: reports, faults, tokenLifetimeSeconds, amounts: 'cents' }
  if (port !== undefined) return startSandbox({ ...given, port })
  try {
    return await startSandbox({ ...given, port: PORT_PREFERRED })
  } catch (error) {
    if ((asSyncError(error).cause as NodeJS.ErrnoException | undefined)?.code !== 'EADDRINUSE') throw error
    return startSandbox({ ...given, port: 0 })
  }
}

const ready = ({ url, env }: Sandbox) => ({
  url,
  client_id: env.REPORTING_CLIENT_ID,
  client_secret: env.REPORTING_CLIENT_SECRET,
  control: `${url}/_control`,
})

function greeting(running: Sandbox, { fault, changesPerSecond = 0 }: Omit<ServeOptions, 'json'>): string {
  const { url, client_id, client_secret, control } = ready(running)
  return `A local reporting service is ready at ${url}
  changes per second: ${changesPerSecond}; faults: ${fault.length === 0 ? 'none' : fault.join(', ')}

Sync from it, in another terminal:
  REPORTING_BASE_URL=${url} REPORTING_CLIENT_ID=${client_id} REPORTING_CLIENT_SECRET=${client_secret} npx tidemark sync

Change it while it runs:
  curl -X POST ${control}/change -d '{"action":"edit","report":"events"}'
  curl -X POST ${control}/changes -d '{"perSecond":5}'
  curl -X POST ${control}/faults -d '{"faults":["slow:200"]}'

Ctrl-C ends it.
`
}
