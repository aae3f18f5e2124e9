/** Loads DuckDB's extensions from the operator's directory, so that no unknown code runs. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { SyncError } from '../../errors.ts'
import { type Sql, text } from './sql.ts'

export type Extension = 'ducklake' | 'httpfs' | 'motherduck' | 'postgres_scanner' | 'quack' | 'sqlite_scanner'

export async function loadExtensions(
  sql: Pick<Sql, 'run' | 'rows'>,
  directory: string | undefined,
  extensions: readonly Extension[],
): Promise<void> {
  for (const extension of extensions) {
    const file = join(directory ?? '', `${extension}.duckdb_extension`)
    const isThere = directory !== undefined && existsSync(file)
    if (!isThere) throw await missing(sql, extension, directory === undefined ? 'no directory is set' : `no ${file}`)
    try {
      await sql.run(`LOAD ${text(file)}`)
    } catch (error) {
      throw await missing(sql, extension, (error as Error).message, error)
    }
  }
}

async function missing(
  sql: Pick<Sql, 'rows'>,
  extension: Extension,
  ...[reason, cause]: [reason: string, cause?: unknown]
): Promise<SyncError> {
  const [duckdb] = await sql.rows<{ version: string }>('SELECT version() AS version')
  const version = duckdb?.version ?? ''
  const wheel = `duckdb-extension-${extension.replaceAll('_', '-')}==${version.replace(/^v/, '')}`
  return new SyncError('EXTENSION_MISSING', `DuckDB's extension ${extension} can't be loaded: ${reason}`, {
    cure: `Put ${extension}.duckdb_extension of DuckDB ${version} into the directory that extensions (TIDEMARK_EXTENSIONS) names: "python3 -m pip download --no-deps ${wheel}" downloads a wheel, which is a zip file that contains it.`,
    data: { extension, version },
    cause,
  })
}
