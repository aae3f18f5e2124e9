/** Caches query results until one of their tables changes. Unsafe with other writers. */

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

  /** Drops results that the statement makes outdated. Call this before each statement. */
  before(sql: string): void {
    if (/^\s*SELECT\b[^;]*$/i.test(sql)) return
    // Drops results of tables written since BEGIN: a result that the transaction has read is wrong after a ROLLBACK.
    for (const table of tablesIn(sql)) this.#writtenSinceBegin.add(table)
    for (const [query, { tables }] of this.#results)
      if ([...tables].some((table) => this.#writtenSinceBegin.has(table))) this.#results.delete(query)
    if (sql === 'BEGIN') this.#writtenSinceBegin.clear()
  }
}

const tablesIn = (sql: string): string[] => sql.match(/\btidemark\.\w+|\bmain\."[^"]+/g) ?? []
