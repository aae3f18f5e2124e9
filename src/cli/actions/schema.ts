/** `tidemark schema`: prints the tables of the published copy or, before the first sync, of an empty warehouse. */
import path from 'node:path'
import { stringify } from 'yaml'
import { dbtSources } from '../../../schema/dbt.ts'
import { dictionary } from '../../../schema/dictionary.ts'
import type { Config } from '../../config/config.ts'
import { isThere } from '../../folders.ts'
import { catalogueOf, type CatalogueTable, columnsIn, definitionSql } from '../../warehouse/database/catalogue.ts'
import { Warehouse } from '../../warehouse/warehouse.ts'
import { openNewest, openPublished } from '../../wiring/published.ts'
import type { ExitCode, Shell } from '../shell.ts'
import type { CommandOptions } from '../voices.ts'

export interface SchemaOptions extends CommandOptions {
  readonly format: 'sql' | 'markdown' | 'dbt'
}

export async function schema(shell: Shell, { config, format }: SchemaOptions): Promise<ExitCode> {
  shell.out.write(textOf(await heldBy(config), config, format))
  return 0
}

/** Returns the published copy's tables. Before the first sync, returns the tables that the first sync will create. */
async function heldBy(config: Config): Promise<CatalogueTable[]> {
  await using database =
    config.lake === undefined && isThere(config.published)
      ? await openPublished(config)
      : (await openNewest(config))?.database
  if (database !== undefined) return await catalogueOf(database)
  await using empty = await Warehouse.open({ path: ':memory:', memory: config.limits.warehouseMemory })
  return await catalogueOf(empty)
}

function textOf(catalogue: readonly CatalogueTable[], config: Config, format: SchemaOptions['format']): string {
  if (format === 'sql') return definitionSql(catalogue)
  const held = columnsIn(catalogue, 'main')
  const books = catalogue.filter((table) => table.schema === 'tidemark')
  if (format === 'markdown') return dictionary(books, held)
  const running = Object.values(config.reports).filter(({ enabled }) => enabled)
  const sources = dbtSources({
    database: config.lake === undefined ? path.parse(config.published).name : 'lake',
    held,
    books,
    histories: catalogue.filter((table) => table.schema === 'history' && table.view !== undefined),
    everyMs: new Map(running.map(({ name, everyMs }) => [name, everyMs])),
  })
  return `# Made by "tidemark schema --format dbt"; make it again when columns were added.\n${stringify(sources, { lineWidth: 0, aliasDuplicateObjects: false })}`
}
