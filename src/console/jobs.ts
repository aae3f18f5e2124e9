/** Lists the jobs of all queues: active, waiting, delayed until the next attempt, and failed. */
import { type QueueName, QUEUES } from '../../jobs/queue/queues.ts'
import type { Requests } from '../../jobs/queue/requests.ts'
import { type Clock, within } from '../clock.ts'
import { SyncError } from '../errors.ts'
import { formatInstant, fromMillis } from '../instant.ts'
import type { Jobs } from './api/schemas.ts'

type Job = Jobs['jobs'][number]
type Queues = Pick<Requests, 'queue' | 'depths'>

const STATES = ['active', 'waiting', 'delayed', 'failed'] as const
const JOBS_MAX = 20
const ANSWER_MS_MAX = 5_000

/** Throws QUEUE_UNREACHABLE after 5 s. */
export async function jobsInTime(read: () => Promise<Jobs>, clock: Clock): Promise<Jobs> {
  const answer = await within(ANSWER_MS_MAX, clock, read)
  if (answer !== undefined) return answer
  throw new SyncError('QUEUE_UNREACHABLE', `the queue did not answer within ${ANSWER_MS_MAX / 1_000} seconds`, {
    cure: 'Check that the store of the queue is running and reachable.',
  })
}

export async function readJobs(queues: Queues): Promise<Jobs> {
  const depths = await queues.depths()
  const places = STATES.flatMap((state) => QUEUES.map((queue) => ({ queue, state })))
  const filled = places.filter(({ queue, state }) => depths[queue][state] > 0 && !isSchedule(queue, state))
  const jobs = await Promise.all(filled.map(({ queue, state }) => jobsIn(queues, queue, state)))
  return { depths: { ...depths }, jobs: jobs.flat() }
}

/** Ticks that wait for their time are not listed, because each report always has such a tick. */
const isSchedule = (queue: QueueName, state: Job['state']): boolean => queue === 'ticks' && state === 'delayed'

async function jobsIn(queues: Queues, queue: QueueName, state: Job['state']): Promise<Job[]> {
  const types = state === 'waiting' ? (['waiting', 'prioritized'] as const) : ([state] as const)
  const jobs = await queues.queue(queue).getJobs([...types], 0, JOBS_MAX - 1)
  // `jobs` contains undefined for each job that was removed while BullMQ read the list.
  return jobs
    .filter((job: (typeof jobs)[number] | undefined) => job !== undefined)
    .map((job) => ({
      id: job.id ?? '',
      queue,
      name: job.name,
      state,
      tries: job.attemptsMade,
      added_at: formatInstant(fromMillis(job.timestamp)),
      error: job.failedReason ?? null,
    }))
}
