/** Runs workers and kills some of them (`npm run soak -- --minutes 10`). The exit code is 1 if a promise was broken. */
import { parseArgs } from 'node:util'
import { machineText } from '../../bench/machine.ts'
import { soak } from './soak.ts'
import { summaryText } from './summary.ts'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    workers: { type: 'string', default: '3' },
    seed: { type: 'string', default: '1' },
  },
})

const seconds = Number(values.minutes) * 60
process.stdout.write(`${machineText()}\n`)
const ended = await soak({
  seconds,
  workers: Number(values.workers),
  seed: Number(values.seed),
  changesPerSecond: 50,
  killEverySeconds: 20,
  freezeSeconds: 20,
  tell: (line) => void process.stderr.write(`${line}\n`),
})
process.stdout.write(summaryText(ended))
process.exitCode = ended.broken.length === 0 ? 0 : 1
