/** `tidemark schema`: prints the tables of the published copy or, before the first sync, of an empty warehouse. */
import path from 'node:path'
import { stringify } from 'yaml'
import { dbtSources } from '../../../schema/dbt.ts'
import { dictionary } from '../../../schema/dictionary.ts'
import { jsonSchemaOf, typescriptOf } from '../../../schema/rowTypes.ts'
import { chosenTypes } from '../../../schema/values.ts'
import type { Config } from '../../config/config.ts'
import { usageError } from '../../errors.ts'
import { isThere } from '../../folders.ts'
import { catalogueOf, type CatalogueTable, columnsIn, definitionSql } from '../../warehouse/database/catalogue.ts'
import { Warehouse } from '../../warehouse/warehouse.ts'
import { openNewest, openPublished } from '../../wiring/published.ts'
import { counted, grouped } from '../layout.ts'
import type { Action, CommandOptions } from '../shell.ts'
import { performAndPrint, starting } from '../performAndPrint.ts'

export interface SchemaOptions extends CommandOptions {
  readonly format: 'sql' | 'markdown' | 'dbt' | 'typescript' | 'json-schema'
  readonly retype?: string
}

export const schema: Action<SchemaOptions, string | undefined> = async (shell, options, type) => {
  const { config, format, retype: column } = options
  if (column !== undefined || type !== undefined) return retype(shell, options, type)
  shell.out.write(textOf(await readTables(config), config, format))
  return 0
}

const retype: Action<SchemaOptions, string | undefined> = async (shell, options, type = '') => {
  const { retype: column } = options
  const named = type.toUpperCase().replaceAll(' ', '')
  const to = chosenTypes.find((each) => each === named || each.split('(')[0] === named)
  if (to === undefined || column === undefined) {
    const problem = column === undefined ? `${type}: of which column?` : `there is no type ${type}`
    const cure = `Run: tidemark schema --retype TABLE.COLUMN TYPE, with one of the types ${chosenTypes.join(', ')}`
    throw usageError(problem, cure)
  }
  const request = { do: 'retype', column, type: to } as const
  return performAndPrint(shell, { ...options, start: starting(request) }, ({ retyped }) => {
    const { from, values, fitted, misfits } = retyped
    const figures = `${counted(values, 'value')}, ${grouped(fitted)} of them new; ${counted(misfits, 'misfit')}`
    return { document: retyped, text: () => `${column}: ${from} is now ${to}; ${figures} (tidemark.misfits)\n` }
  })
}

async function readTables(config: Config): Promise<CatalogueTable[]> {
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
  if (format === 'typescript') return typescriptOf(catalogue)
  if (format === 'json-schema') return `${JSON.stringify(jsonSchemaOf(catalogue), undefined, 2)}\n`
  const columns = columnsIn(catalogue, 'main')
  const books = catalogue.filter((table) => table.schema === 'tidemark')
  if (format === 'markdown') return dictionary(books, columns)
  const running = Object.values(config.reports).filter(({ enabled }) => enabled)
  const sources = dbtSources({
    database: config.lake === undefined ? path.parse(config.published).name : 'lake',
    columns,
    books,
    histories: catalogue.filter((table) => table.schema === 'history' && table.view !== null),
    everyMs: new Map(running.map(({ name, everyMs }) => [name, everyMs])),
  })
  return `# Made by "tidemark schema --format dbt"; make it again when columns were added.\n${stringify(sources, { lineWidth: 0, aliasDuplicateObjects: false })}`
}
