/** A module for `node --import`: writes how long the event loop was blocked to the file in LOOP_WATCH. */
import { writeFileSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'

const RESOLUTION_MS = 10
const file = process.env['LOOP_WATCH']
const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
delays.enable()
const ms = (nanoseconds: number) => Number((nanoseconds / 1e6).toFixed(1))
if (file !== undefined)
  process.on('exit', () => {
    const { min, mean, max } = delays
    const figures = { min: ms(min), mean: ms(mean), p99: ms(delays.percentile(99)), max: ms(max) }
    writeFileSync(file, JSON.stringify({ ...figures, samples: delays.count, rss: process.resourceUsage().maxRSS }))
  })
