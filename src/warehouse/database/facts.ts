/**
 * Caches the results of queries on bookkeeping tables and reports, if no other process writes the file. Before a
 * statement that can change a table, the cached results from this table are removed. They are removed again before the
 * end of the transaction, because a query in it can have cached values that a rollback then undoes.
 */
/** A longer result is not cached, because its memory would grow with the rows of a report. */
const ROWS_KEPT_MAX = 1_000

export class Facts {
  readonly #kept = new Map<string, { readonly tables: ReadonlySet<string>; readonly rows: readonly object[] }>()
  readonly #writtenSinceBegin = new Set<string>()

  find(query: string): object[] | undefined {
    return this.#kept.get(query)?.rows.map((row) => ({ ...row }))
  }

  keep(query: string, rows: readonly object[]): void {
    if (rows.length > ROWS_KEPT_MAX) return
    this.#kept.set(query, { tables: new Set(tablesIn(query)), rows: rows.map((row) => ({ ...row })) })
  }

  /** Call this before each statement. Removes cached results from tables that the current transaction changes. */
  before(sql: string): void {
    if (/^\s*SELECT\b[^;]*$/i.test(sql)) return
    for (const table of tablesIn(sql)) this.#writtenSinceBegin.add(table)
    for (const [query, { tables }] of this.#kept)
      if ([...tables].some((table) => this.#writtenSinceBegin.has(table))) this.#kept.delete(query)
    if (sql === 'BEGIN') this.#writtenSinceBegin.clear()
  }
}

const tablesIn = (sql: string): string[] => sql.match(/\btidemark\.\w+|\bmain\."[^"]+/g) ?? []
