/** A secret that was written anew is read by whoever asks for a token, and no line of the log holds it from then on. */
import { expect, it } from 'vitest'
import { clientOf } from '../../src/wiring/openContext.ts'
import { systemClock } from '../../src/clock.ts'
import { createLog } from '../../src/log.ts'
import { Secret } from '../../src/secret.ts'
import { aTide } from '../support/tide.ts'

it('masks the new client secret as the first one', async () => {
  await using tide = await aTide()
  const clientSecret = new Secret('marked-first-secret', () => Promise.resolve('marked-second-secret'))
  const config = { ...tide.config, service: { ...tide.config.service, clientSecret } }
  const lines: string[] = []
  const log = createLog({ level: 'info', pretty: false, destination: { write: (line) => lines.push(line) } })
  await using client = clientOf(config, { clock: systemClock, log })
  await expect(client.token()).rejects.toMatchObject({ code: 'CREDENTIALS_REFUSED' })
  log.info('between marked-first-secret and marked-second-secret')
  expect(lines.join('')).toContain('between [secret] and [secret]')
  expect(lines.join('')).not.toContain('marked-')
})
