/**
 * Keeps results of queries on the tables of schema `tidemark` in memory, if no other process writes the file. A result
 * is removed before a statement that can write one of its tables, and again before the transaction ends. So no kept
 * result is wrong, even if the statement fails, the transaction is rolled back, or the result of its COMMIT is lost.
 */
interface Kept {
  readonly tables: ReadonlySet<string>
  readonly rows: readonly object[]
}

export class Facts {
  readonly #kept = new Map<string, Kept>()
  /** The tables that were written since the last BEGIN. */
  readonly #written = new Set<string>()

  /** Returns a copy of the kept result; undefined if there is none. `query`: the statement with its values. */
  find(query: string): object[] | undefined {
    return this.#kept.get(query)?.rows.map((row) => ({ ...row }))
  }

  keep(query: string, rows: readonly object[]): void {
    this.#kept.set(query, { tables: new Set(tablesIn(query)), rows: rows.map((row) => ({ ...row })) })
  }

  /** Call it before each statement. Removes results that this or an earlier statement of the transaction can change. */
  before(sql: string): void {
    if (/^\s*SELECT\b[^;]*$/i.test(sql)) return
    for (const table of tablesIn(sql)) this.#written.add(table)
    for (const [query, { tables }] of this.#kept)
      if ([...tables].some((table) => this.#written.has(table))) this.#kept.delete(query)
    if (sql === 'BEGIN') this.#written.clear()
  }
}

const tablesIn = (sql: string): string[] => sql.match(/\btidemark\.\w+/g) ?? []
