/** Checks the address at which a worker will serve the console. */
import type { Config } from '../../config/config.ts'
import { CONSOLE_TOKEN } from '../../config/environment.ts'
import { addressOf, checkReach } from '../../console/access/address.ts'
import { asSyncError } from '../../errors.ts'
import { type Finding, ok, warn } from './finding.ts'

/** Returns `ok` or a warning, never a failure, because commands work without a console. */
export function checkConsole({ console: { host, port, token } }: Config): Finding {
  try {
    checkReach(host, token)
  } catch (thrown) {
    const { message, cure } = asSyncError(thrown)
    return warn('console', `a worker would not start: ${message}`, cure)
  }
  const where = port === 0 ? `any free port of ${host}` : addressOf(host, port)
  return ok('console', `${where}, ${token === undefined ? 'a token made at each start' : `token in ${CONSOLE_TOKEN}`}`)
}
