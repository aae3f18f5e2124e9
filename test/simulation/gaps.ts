/**
 * Where a process can die within a load: in the gaps between its statements, from the first that stages its rows to the
 * last that clears up. Counts which gaps came by and in which of them a process died, and calls for a death at a gap
 * that was drawn, since one drawn among all events seldom falls into the few milliseconds of a load.
 */
import type { Tally } from './faults.ts'

const BEGINS = /TEMP TABLE staged_pages|max\(load_id\)/
const ENDS = /^DROP TABLE IF EXISTS temp/

export class Gaps {
  /** The death that was drawn: after so many statements of loads from now on. */
  #left: number | undefined
  #die: () => void = () => undefined
  /** The kind of the load's last statement; undefined: no load is under way. */
  #last: string | undefined
  readonly #tally: Tally

  constructor(tally: Tally) {
    this.#tally = tally
  }

  /** Has `die` called before the load statement of this number; undefined: calls it off. */
  arm(statement: number | undefined, die: () => void): void {
    this.#left = statement
    this.#die = die
    this.#last = undefined
  }

  /** A statement is about to run. */
  before(): void {
    if (this.#last === undefined || this.#left === undefined) return
    this.#left -= 1
    if (this.#left > 0) return
    this.#left = undefined
    this.#die()
  }

  after(sql: string): void {
    if (this.#last === undefined && !BEGINS.test(sql)) return
    this.#last = ENDS.test(sql) ? undefined : kindOf(sql)
    if (this.#last !== undefined) this.#tally.add(`gap after ${this.#last}`)
  }

  /** A process dies now, for whatever reason. */
  died(): void {
    if (this.#last !== undefined) this.#tally.add(`died after ${this.#last}`)
    this.#last = undefined
  }
}

const DOES = /(?:CREATE OR REPLACE TEMP TABLE|INSERT INTO|DELETE FROM|UPDATE|ALTER TABLE|DROP VIEW)\s+[\w."]+|^[A-Z]+/
const READS = /FROM\s+(?:\(SELECT[^)]*FROM\s+)?[\w."]+/

/** A statement without its values: what it does to which table. */
function kindOf(sql: string): string {
  const text = sql.trim()
  const kind = text.startsWith('SELECT') ? `SELECT ${READS.exec(text)?.[0] ?? ''}` : DOES.exec(text)?.[0]
  return kind?.replaceAll(/\s+/g, ' ') ?? 'another'
}
