/** The stamps and states of one report's rows, in typed arrays that grow as rows are inserted. */
import type { History } from './history.ts'
import type { Stamps } from './rows/model.ts'
import type { Ticks } from './ticks.ts'

const DELETED = 1
const GONE = 2
const ROOM_FOR_INSERTS = 1_024

export class StampColumns {
  #created: Float64Array
  #modified: Float64Array
  #aggregate: Float64Array
  #state: Uint8Array
  #size: number

  constructor(rows: number, history: History) {
    const room = rows + ROOM_FOR_INSERTS
    this.#size = rows
    this.#created = new Float64Array(room)
    this.#modified = new Float64Array(room)
    this.#aggregate = new Float64Array(room)
    this.#state = new Uint8Array(room)
    for (let row = 0; row < rows; row += 1) {
      this.#created[row] = history.created(row)
      this.#modified[row] = history.modified(row)
      this.#aggregate[row] = history.aggregate(row)
      this.#state[row] = history.deleted(row) ? DELETED : 0
    }
  }

  get size(): number {
    return this.#size
  }

  push(at: Ticks): number {
    const row = this.#size
    if (row === this.#state.length) this.#grow()
    this.#size += 1
    this.#created[row] = at
    this.setModified(row, at)
    this.setAggregate(row, at)
    return row
  }

  created = (row: number): Ticks => this.#created[row] as number
  modified = (row: number): Ticks => this.#modified[row] as number
  aggregate = (row: number): Ticks => this.#aggregate[row] as number
  isDeleted = (row: number): boolean => ((this.#state[row] as number) & DELETED) !== 0
  isGone = (row: number): boolean => ((this.#state[row] as number) & GONE) !== 0

  setModified(row: number, at: Ticks): void {
    this.#modified[row] = at
  }

  setAggregate(row: number, at: Ticks): void {
    this.#aggregate[row] = at
  }

  setDeleted(row: number, deleted: boolean): void {
    this.#setState(row, DELETED, deleted)
  }

  setGone(row: number, gone: boolean): void {
    this.#setState(row, GONE, gone)
  }

  of(row: number): Stamps {
    return {
      created: this.created(row),
      modified: this.modified(row),
      aggregate: this.aggregate(row),
      deleted: this.isDeleted(row),
    }
  }

  #setState(row: number, bit: number, on: boolean): void {
    const state = this.#state[row] as number
    this.#state[row] = on ? state | bit : state & ~bit
  }

  #grow(): void {
    this.#created = grown(this.#created)
    this.#modified = grown(this.#modified)
    this.#aggregate = grown(this.#aggregate)
    const states = new Uint8Array(this.#state.length * 2)
    states.set(this.#state)
    this.#state = states
  }
}

function grown(old: Float64Array): Float64Array {
  const larger = new Float64Array(old.length * 2)
  larger.set(old)
  return larger
}
