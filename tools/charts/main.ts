/** Draws the charts of the documents from measured data (`npm run charts`, or `npm run charts -- peers`). */
import { drawPeers } from './peers.ts'
import { drawYear } from './year.ts'

const CHARTS = { peers: drawPeers, year: drawYear } as const
const wanted = process.argv.slice(2)

for (const [name, draw] of Object.entries(CHARTS)) if (wanted.length === 0 || wanted.includes(name)) await draw()
