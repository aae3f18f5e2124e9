/**
 * The seeds of the corpus and of the first 64 that take longer, and one more that is run twice.
 * @module-tag long
 */
import { repeatsItself, runLongCorpus, runSlowSeeds } from './share.ts'

runLongCorpus()

runSlowSeeds()

repeatsItself(64)
