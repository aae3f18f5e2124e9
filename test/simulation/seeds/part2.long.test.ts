/**
 * One share of the seeds (share.ts): in files of their own, so that all workers take part.
 * @module-tag long
 */
import { runShare } from '../share.ts'

runShare(2)
