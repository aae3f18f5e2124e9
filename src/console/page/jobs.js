/** Jobs of the queues: active, waiting, delayed until their next attempt, and failed with the reason. */
import { failureText } from './api.js'
import { pill, table } from './components.js'
import { counted, moment } from './format.js'
import { html } from './html.js'

/** @typedef {import('../api/schemas.ts').Jobs} Jobs */

const COLUMNS = ['Added (UTC)', 'Queue', 'Job', 'State', { right: 'Tries' }, 'Reason of the last failure']

/** @param {Jobs | Error} answer */
export function jobsSection(answer) {
  if (answer instanceof Error) return html`<article class="bad">${failureText(answer)}</article>`
  const { jobs, depths } = answer
  const total = Object.values(depths).reduce((sum, { waiting, active, failed }) => sum + waiting + active + failed, 0)
  if (jobs.length === 0) return html`<article>No job is running, waiting or failed.</article>`
  return [
    html`<p class="faint">${counted(total, 'job')}. Scheduled ticks are not listed.</p>`,
    table({
      caption: 'Jobs of the queues: running, waiting, failed',
      columns: COLUMNS,
      rows: jobs.map((job) => ({
        key: `${job.queue} ${job.id}`,
        cells: [
          moment(job.added_at),
          job.queue,
          job.name,
          pill(job.state),
          job.tries === 0 ? '' : job.tries,
          job.error ?? '',
        ],
      })),
    }),
  ]
}
