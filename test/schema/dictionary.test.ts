/** The data dictionary follows from the declarations and the books; `UPDATE=1` writes it again. */
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect, it } from 'vitest'
import { dictionary } from '../../schema/dictionary.ts'
import { reports } from '../../schema/index.ts'
import { catalogueOf } from '../../src/warehouse/database/catalogue.ts'
import { Warehouse } from '../../src/warehouse/warehouse.ts'
import { aFolder } from '../support/warehouse.ts'

const FILE = new URL('../../docs/TABLES.md', import.meta.url)

it('docs/TABLES.md is what the declarations and an empty warehouse contain (UPDATE=1 writes it)', async () => {
  await using warehouse = await Warehouse.open({ path: ':memory:', memory: '256MB' })
  const page = dictionary((await catalogueOf(warehouse)).filter(({ schema }) => schema === 'tidemark'))
  expect(page).not.toMatch(/\| {2}\|$/m)
  if (process.env['UPDATE'] === '1') await writeFile(FILE, page)
  expect(await readFile(FILE, 'utf8')).toBe(page)
})

const CORRECTED = 'or comparison of counts did not find'

const commentIn = async (warehouse: Warehouse) => {
  const tables = await catalogueOf(warehouse)
  return tables.find(({ schema, name }) => schema === 'tidemark' && name === 'absences')?.comment
}

it('a comment of a migration that was corrected reaches a warehouse that exists already', async () => {
  await using folder = await aFolder()
  const options = { path: path.join(folder.path, 'old.duckdb'), memory: '256MB' }
  {
    await using warehouse = await Warehouse.open(options)
    expect(await commentIn(warehouse)).toContain(CORRECTED)
    await warehouse.rows(`COMMENT ON TABLE tidemark.absences IS 'Rows that the last reconcile did not find'`)
    await warehouse.rows(`UPDATE tidemark.settings SET value = 'of an older version' WHERE name = 'definitions'`)
    expect(await commentIn(warehouse)).toBe('Rows that the last reconcile did not find')
  }
  await using warehouse = await Warehouse.open(options)
  expect(await commentIn(warehouse)).toContain(CORRECTED)
})

it('docs/READING.md names every report', async () => {
  const page = await readFile(new URL('../../docs/READING.md', import.meta.url), 'utf8')
  expect(reports.filter(({ name }) => !page.includes(`\`${name}\``)).map(({ name }) => name)).toEqual([])
})
