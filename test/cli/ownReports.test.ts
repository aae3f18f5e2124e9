/** The example of docs/OWN-REPORTS.md, run by the program as a user does: sandbox, check, sync, query, verify, schema. */

import { mkdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect, it } from 'vitest'
import { markdownOf } from '../rules/markdown.ts'
import { ROOT } from '../rules/source.ts'
import { aPlace } from './support.ts'

it('syncs the report that docs/OWN-REPORTS.md declares, and shows it like the others', { tags: 'long' }, async () => {
  const { blocks } = markdownOf('OWN-REPORTS.md', await readFile(path.join(ROOT, 'docs/OWN-REPORTS.md'), 'utf8'))
  const textOf = (kind: string) => blocks.find((each) => each.kind === kind)?.text ?? ''
  await using place = await aPlace({ env: { REPORTING_CLIENT_SECRET: 'demo-secret' } })
  await mkdir(path.join(place.folder, 'reports'))
  await writeFile(path.join(place.folder, 'reports/cateringOrders.ts'), textOf('ts reports/cateringOrders.ts'))
  const sandbox = place.start(['sandbox', '--reports-from', 'reports', '--rows', '40', '--port', '0', '--json'])
  try {
    await expect.poll(() => sandbox.said(), { timeout: 30_000 }).toContain('"url"')
    const { url } = JSON.parse(/\{.*\}/.exec(sandbox.said())?.[0] ?? '') as { url: string }
    const service = `service: { base_url: "${url}", client_id: demo }\n`
    await writeFile(path.join(place.folder, 'tidemark.yaml'), service + textOf('yaml'))
    // One command in a process of its own shows that a start loads the declaration.
    const run = async (...args: string[]) => {
      const { code, stdout, stderr } = await (args[0] === 'sync' ? place.start(args).ended : place.run(...args))
      expect({ args, code, stderr: code === 0 ? '' : stderr }).toEqual({ args, code: 0, stderr: '' })
      return stdout
    }
    expect(await run('check')).toMatch(/catering_orders/)
    await run('sync', 'catering_orders')
    const count = 'SELECT count(*) AS orders, count(DISTINCT order_id) AS keys FROM current.catering_orders'
    expect(JSON.parse(await run('query', '--format', 'json', count))).toMatchObject([{ orders: 40, keys: 40 }])
    const dishes = 'SELECT count(*) > 0 AS some FROM current.catering_orders__dishes'
    expect(JSON.parse(await run('query', '--format', 'json', dishes))).toMatchObject([{ some: true }])
    expect(await run('verify', 'catering_orders')).toContain('catering_orders')
    expect(await run('status')).toMatch(/catering_orders +\S/)
    expect(await run('schema', '--format', 'dbt')).toContain('name: catering_orders')
  } finally {
    sandbox.kill('SIGTERM')
    await sandbox.ended
  }
})
