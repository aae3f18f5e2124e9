/** Writes the events of the service client to the log. */
import type { ClientEvent } from '../client/reporting.ts'
import { formatInstant } from '../instant.ts'
import type { Log } from '../log.ts'

export function logClientEvent(log: Log, event: ClientEvent): void {
  switch (event.kind) {
    case 'retry': {
      const { report, code, attempt, delayMs } = event
      return log.warn({ report, code, attempt, delayMs }, `${report ?? 'token'}: asked again after a failure`)
    }
    case 'throttled':
    case 'wait requested':
      return log.warn({ report: event.report, pauseMs: event.pauseMs }, 'the service asks to wait: nothing is sent')
    case 'token refused':
      return log.warn({ report: event.report }, `${event.report}: the token was refused, a new one is asked for`)
    case 'token refreshed':
      return log.info({ expiresAt: formatInstant(event.expiresAt) }, 'a new token')
    case 'secret changed':
      return log.info('the file with the client secret holds another one: a token is asked for with that')
    case 'clock is ours':
      return log.warn("the service's answers carry no Date: this machine's clock stands in for the service's")
  }
}
