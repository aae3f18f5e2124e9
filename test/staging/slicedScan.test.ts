/** A page that is scanned in slices: the same as in one go, and others get their turn between them. */
import { expect, it } from 'vitest'
import { ObjectCatalog } from '../../src/staging/catalog.ts'
import { MalformedJson } from '../../src/staging/jsonBytes.ts'
import { scanPage } from '../../src/staging/scanPage.ts'
import { scanInSlices } from '../../src/staging/scanPage.ts'

const planWith = (catalog: ObjectCatalog) => ({ answer: 'array', key: ['id'], catalog, numberPrefix: '~' }) as const
const pageFrom = (first: number, field: string) =>
  Buffer.from(
    JSON.stringify(Array.from({ length: 200 }, (_, n) => ({ id: first + n, [field]: 'x'.repeat(5_000), n: 1.5 }))),
  )

it('lets others go first every quarter of a megabyte, and finds what a scan in one go finds', async () => {
  let turns = 0
  const nextTurn = () => {
    turns += 1
    return Promise.resolve()
  }
  const sliced = await scanInSlices(pageFrom(1, 'a'), planWith(new ObjectCatalog()), nextTurn)
  const whole = scanPage(pageFrom(1, 'a'), planWith(new ObjectCatalog()))
  expect(turns).toBe(3)
  expect(sliced.keys).toEqual(whole.keys)
  expect(sliced.lines(3).equals(whole.lines(3))).toBe(true)
})

it('scans pages that share a catalogue one after the other, also when one of them is malformed', async () => {
  const plan = planWith(new ObjectCatalog())
  const order: string[] = []
  const scanned = (name: string, bytes: Buffer) =>
    scanInSlices(bytes, plan, () => {
      order.push(name)
      return Promise.resolve()
    }).then(
      ({ rowCount }) => rowCount,
      (error: unknown) => error instanceof MalformedJson,
    )
  const cut = pageFrom(300, 'b').subarray(0, 900_000)
  const pages = [scanned('first', pageFrom(1, 'a')), scanned('cut', cut), scanned('last', pageFrom(600, 'c'))]
  expect(await Promise.all(pages)).toEqual([200, true, 200])
  expect(order).toEqual(['first', 'first', 'first', 'cut', 'cut', 'cut', 'last', 'last', 'last'])
})
