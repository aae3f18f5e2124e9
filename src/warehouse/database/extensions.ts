/** Loads DuckDB's extensions from the operator's directory. Tidemark downloads none, so that no unknown code runs. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { SyncError } from '../../errors.ts'
import { onlyRow, type Sql, text } from './sql.ts'

export type Extension = 'ducklake' | 'httpfs' | 'motherduck' | 'postgres_scanner' | 'quack' | 'sqlite_scanner'

export async function loadExtensions(
  sql: Pick<Sql, 'run' | 'rows'>,
  directory: string | undefined,
  extensions: readonly Extension[],
): Promise<void> {
  for (const extension of extensions) {
    const file = join(directory ?? '', `${extension}.duckdb_extension`)
    try {
      if (directory === undefined) throw new Error('no directory is set')
      if (!existsSync(file)) throw new Error(`no ${file}`)
      await sql.run(`LOAD ${text(file)}`)
    } catch (error) {
      throw await missing(sql, extension, error as Error)
    }
  }
}

async function missing(sql: Pick<Sql, 'rows'>, extension: Extension, cause: Error): Promise<SyncError> {
  const { version } = await onlyRow<{ version: string }>(sql, 'SELECT version() AS version')
  const wheel = `duckdb-extension-${extension.replaceAll('_', '-')}==${version.replace(/^v/, '')}`
  return new SyncError('EXTENSION_MISSING', `DuckDB's extension ${extension} can't be loaded: ${cause.message}`, {
    cure: `Put ${extension}.duckdb_extension of DuckDB ${version} into the directory that extensions (TIDEMARK_EXTENSIONS) names: "python3 -m pip download --no-deps ${wheel}" downloads a wheel, which is a zip file that contains it.`,
    data: { extension, version },
    cause,
  })
}
