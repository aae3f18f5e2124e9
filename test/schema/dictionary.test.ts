/** The data dictionary follows from the declarations; `UPDATE=1` writes it anew. */
import { readFile, writeFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { dictionary } from '../../schema/dictionary.ts'
import { reports } from '../../schema/index.ts'

const FILE = new URL('../../docs/TABLES.md', import.meta.url)

it('docs/TABLES.md is what the declarations say', async () => {
  if (process.env['UPDATE'] === '1') await writeFile(FILE, dictionary())
  expect(await readFile(FILE, 'utf8')).toBe(dictionary())
})

it('docs/READING.md names every report', async () => {
  const page = await readFile(new URL('../../docs/READING.md', import.meta.url), 'utf8')
  for (const report of reports) expect(page).toContain(`\`${report.name}\``)
})
