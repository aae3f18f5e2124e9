/** Checks the receivers of notices and of messages about new data. */
import { newMessage, postMessage } from '../../../jobs/notify/deliveries.ts'
import type { Config, ReceiverConfig } from '../../config/config.ts'
import { asSyncError } from '../../errors.ts'
import { receiversBehind } from '../../status/receivers.ts'
import type { Shell } from '../shell.ts'
import { fail, type Finding, ok, warn } from './finding.ts'

const TEST = {
  event: 'notify.test',
  state: 'resolved',
  message: 'A test by "tidemark check". Nothing is wrong.',
} as const

/** Warns of receivers that are behind. If `isSending`, posts a test message to each receiver. */
export async function checkReceivers(config: Config, { clock, stop }: Shell, isSending: boolean): Promise<Finding[]> {
  const behind = new Map((await receiversBehind(config)).map((each) => [each.receiver, each]))
  const check = async (receiver: ReceiverConfig): Promise<Finding> => {
    const { name, format } = receiver
    const problem = behind.get(name)
    try {
      if (isSending) await postMessage(receiver, newMessage(TEST, { config, clock }), { clock, signal: stop.signal })
    } catch (error) {
      return fail(name, asSyncError(error))
    }
    if (problem !== undefined) return warn(name, problem.why, problem.cure)
    return ok(name, `format ${format}, ${isSending ? 'accepted a test message' : '--notify posts a test message'}`)
  }
  return Promise.all((config.notify?.receivers ?? []).map(check))
}
