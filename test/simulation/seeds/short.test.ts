/** The seeds of the short tests. */
import { runShortSeeds } from '../share.ts'

runShortSeeds()
