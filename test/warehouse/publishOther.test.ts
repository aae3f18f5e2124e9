/** Two warehouses with one published copy: the second one does not replace the copy while the first one exists. */
import { copyFile, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { enquiries } from '../../schema/reports/enquiries.ts'
import { Database } from '../../src/warehouse/database/duckdb.ts'
import type { Warehouse } from '../../src/warehouse/warehouse.ts'
import { copyWarehouse } from '../support/templates.ts'
import { aFolder, loadRows, openAt } from '../support/warehouse.ts'

const load = (warehouse: Warehouse, path: string, status: number) => {
  const opened = { warehouse, path, folder: dirname(path), [Symbol.asyncDispose]: () => warehouse.close() }
  return loadRows(opened, enquiries, [{ enquiryId: 1, status }])
}

async function statusesIn(path: string): Promise<unknown[]> {
  await using database = await Database.open(path, { readOnly: true, memory: '128MB' })
  return (await database.rows('SELECT status FROM current.enquiries ORDER BY 1')).map((row) => row['status'])
}

/** A folder in which `first` was published, and `second` was not. */
async function twoWarehouses() {
  const folder = await aFolder()
  const [first, second, to] = ['first', 'second', 'published'].map((name) => join(folder.path, `${name}.duckdb`)) as [
    string,
    string,
    string,
  ]
  // A copy of the template is made in a fifth of the time. The second warehouse must have another identity.
  await copyWarehouse(first)
  await using warehouse = await openAt(first)
  await load(warehouse, first, 5)
  await warehouse.publish(to)
  return { first, second, to, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() }
}

const refusal = ({ first, to }: { first: string; to: string }) => ({
  code: 'PUBLISH_FAILED',
  message: `${to} is the published copy of another warehouse, ${first}`,
  cure: expect.stringMatching(/Set published to another file/) as string,
})

describe('the copy of another warehouse', () => {
  it('stays as it was, also while that warehouse is open, and the rows stay committed', async () => {
    await using place = await twoWarehouses()
    await using second = await openAt(place.second)
    await load(second, place.second, 6)
    await expect(second.publish(place.to)).rejects.toMatchObject(refusal(place))
    await using first = await openAt(place.first)
    await expect(second.publish(place.to)).rejects.toMatchObject(refusal(place))
    expect(await statusesIn(place.to)).toEqual([5])
    expect(await second.rows('SELECT status FROM main.enquiries')).toEqual([{ status: 6 }])
    await load(first, place.first, 7)
    expect((await first.publish(place.to)).replaced).toBe(true)
    expect((await second.publish(`${place.to}.own`)).replaced).toBe(true)
  })

  it('stays as it was if it was made after the own copy was removed', async () => {
    await using place = await twoWarehouses()
    await using first = await openAt(place.first)
    await load(first, place.first, 6)
    await first.publish(place.to)
    await rm(place.to)
    await using second = await openAt(place.second)
    await second.publish(place.to)
    await load(first, place.first, 7)
    await expect(first.publish(place.to)).rejects.toMatchObject(refusal({ ...place, first: place.second }))
  })

  it('is replaced once that warehouse is removed, moved away, or is not the one that was published', async () => {
    for (const end of [rm, (file: string) => rename(file, `${file}.old`), startOver]) {
      await using place = await twoWarehouses()
      await end(place.first)
      await using second = await openAt(place.second)
      expect((await second.publish(place.to)).replaced).toBe(true)
      expect(await statusesIn(place.to)).toEqual([])
    }
  })
})

describe('the own copy is replaced', () => {
  it('after the warehouse was deleted and made again', async () => {
    await using place = await twoWarehouses()
    await rm(place.first)
    await using again = await openAt(place.first)
    expect((await again.publish(place.to)).replaced).toBe(true)
    expect(await statusesIn(place.to)).toEqual([])
  })

  it('after the published copy was restored as the warehouse, in the old place or in a new one', async () => {
    for (const at of ['first', 'second'] as const) {
      await using place = await twoWarehouses()
      await copyFile(place.to, place[at])
      await using restored = await openAt(place[at])
      await load(restored, place[at], 8)
      expect((await restored.publish(place.to)).replaced).toBe(true)
      expect(await statusesIn(place.to)).toEqual([8])
    }
  })
})

async function startOver(file: string): Promise<void> {
  await rm(file)
  await (await openAt(file)).close()
}
