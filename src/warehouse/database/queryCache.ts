/** Caches query results until a statement changes one of the query's tables. Unsafe if other processes also write. */

/** A result with more rows is not cached, because it would take too much memory. */
const ROWS_CACHED_MAX = 1_000

export class QueryCache {
  readonly #results = new Map<string, { readonly tables: ReadonlySet<string>; readonly rows: readonly object[] }>()
  readonly #writtenSinceBegin = new Set<string>()

  find(query: string): object[] | undefined {
    return this.#results.get(query)?.rows.map((row) => ({ ...row }))
  }

  store(query: string, rows: readonly object[]): void {
    if (rows.length > ROWS_CACHED_MAX) return
    this.#results.set(query, { tables: new Set(tablesIn(query)), rows: rows.map((row) => ({ ...row })) })
  }

  /** Drops cached results of queries on tables that the transaction changes. Call this before each statement. */
  before(sql: string): void {
    if (/^\s*SELECT\b[^;]*$/i.test(sql)) return
    // A ROLLBACK also drops results: queries in the transaction may have cached values that the ROLLBACK undoes.
    for (const table of tablesIn(sql)) this.#writtenSinceBegin.add(table)
    for (const [query, { tables }] of this.#results)
      if ([...tables].some((table) => this.#writtenSinceBegin.has(table))) this.#results.delete(query)
    if (sql === 'BEGIN') this.#writtenSinceBegin.clear()
  }
}

const tablesIn = (sql: string): string[] => sql.match(/\btidemark\.\w+|\bmain\."[^"]+/g) ?? []
