/** No secret leaves its place, and one line of the log leads to all of a run. */
import { describe, expect, it } from 'vitest'
import { aWorkshop, linesOf, stop, until } from '../jobs/support.ts'
import { searchSecrets } from './secretSearch.ts'

const LONG = { timeout: 400_000 }

describe('secrets, with a worker on redis', () => {
  it(
    'are in no output, file, store, table, span, page or metric after everything was run at trace',
    { ...LONG, tags: 'long' },
    () => searchSecrets('redis'),
  )
})

describe('one line of the log', () => {
  it('tells each run at info with all its figures, and its identifier finds its requests and loads at debug', {
    ...LONG,
    tags: 'long',
  }, async () => {
    await using shop = await aWorkshop({ store: 'redis', env: { TIDEMARK_LOG_LEVEL: 'debug' } })
    const worker = shop.worker()
    const runs = () => linesOf(worker).filter(({ report, state, level }) => level === 30 && report && state === 'done')
    await until(() => runs().length > 0)
    await stop(worker)
    const [line] = runs() as unknown as (Record<string, unknown> & { runId: string })[]
    const figures = [
      'pages',
      'rows',
      'inserted',
      'updated',
      'deleted',
      'rejected',
      'childrenWritten',
      'schemaChanges',
      'late',
      'ms',
    ]
    for (const figure of figures) expect(line?.[figure], figure).toEqual(expect.any(Number))
    const ofRun = (linesOf(worker) as unknown as { runId?: string; what?: string }[]).filter(
      ({ runId }) => runId === line?.runId,
    )
    expect(ofRun.map(({ what }) => what)).toEqual(expect.arrayContaining([undefined, 'run', 'walk', 'request', 'load']))
    expect(runs().filter((each) => (each as unknown as { runId: string }).runId === line?.runId)).toHaveLength(1)
  })
})
