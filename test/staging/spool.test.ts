/** The spool: pages as they come, in segments of bounded size, gone with the spool. */
import { existsSync } from 'node:fs'
import { readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { filesOf, Spool } from '../../src/staging/spool.ts'
import { aFolder, NOON } from '../support/warehouse.ts'

const AT_NOON = { observedAt: NOON, askedAt: NOON }
import { scan } from '../support/pages.ts'

const page = (from: number, rows: number) =>
  scan(JSON.stringify(Array.from({ length: rows }, (_, n) => ({ id: from + n }))))

/** Lines without what is the spool's own in them: number of page and row, shape. */
const plainLines = (text: string): string[] =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => line.replace(/^(\{"#":\d+,("[$]":\d+,)?|\d+\t)/, ''))

describe('a spool', () => {
  it('cuts segments by rows and keeps the order of the pages', async () => {
    await using folder = await aFolder()
    await using spool = new Spool(join(folder.path, 'spool'), scan('[]').catalog, { loadRowsMax: 4, loadBytesMax: 1e6 })
    for (const from of [1, 4, 7]) await spool.add(page(from, 3), AT_NOON, { record: from })
    const segments = await spool.takeRest()
    expect(segments.map(({ rows, pages }) => [rows, pages.map(({ index, asked }) => [index, asked])])).toEqual([
      [
        6,
        [
          [0, { record: 1 }],
          [1, { record: 4 }],
        ],
      ],
      [3, [[2, { record: 7 }]]],
    ])
    const lines = (await readFile(segments[0]?.file ?? '', 'utf8')).split('\n')
    expect(lines.slice(0, -1).map((line) => (JSON.parse(line) as { id: number }).id)).toEqual([1, 2, 3, 4, 5, 6])
    expect(await spool.takeRest()).toEqual([])
  })

  it('whose folder goes away says that what was staged is gone', async () => {
    await using folder = await aFolder()
    const items = scan('[{"id":1,"context":[{"id":7}]}]', { collections: ['context'] })
    const limits = { loadRowsMax: 1, loadBytesMax: 1e6, cutsBetweenPages: () => false }
    await using spool = new Spool(join(folder.path, 'spool'), items.catalog, limits)
    await spool.add(page(1, 3), AT_NOON)
    await rm(join(folder.path, 'spool'), { recursive: true })
    await expect(spool.add(items, AT_NOON)).rejects.toMatchObject({ code: 'STAGED_MISSING', retry: 'transient' })
  })

  it('cuts segments by bytes', async () => {
    await using folder = await aFolder()
    await using spool = new Spool(folder.path, scan('[]').catalog, { loadRowsMax: 1e6, loadBytesMax: 50 })
    for (const from of [1, 4, 7]) await spool.add(page(from, 3), AT_NOON)
    expect(spool.takeFull().map(({ rows, bytes }) => [rows, bytes >= 50])).toEqual([
      [3, true],
      [3, true],
      [3, true],
    ])
  })

  it('begins with small segments and doubles them up to the limit', async () => {
    await using folder = await aFolder()
    const limits = { loadRowsMax: 1e6, loadBytesMax: 400, firstLoadBytesMax: 100 }
    await using spool = new Spool(folder.path, scan('[]').catalog, limits)
    for (let from = 1; from <= 60; from += 1) await spool.add(page(from * 100, 1), AT_NOON)
    const bytes = spool.takeFull().map((segment) => segment.bytes)
    expect(bytes.map((each) => Math.floor(each / 100))).toEqual([1, 2, 4, 4, 4])
  })

  it('takes pages that come at the same time one after the other', async () => {
    await using folder = await aFolder()
    await using spool = new Spool(folder.path, scan('[]').catalog, { loadRowsMax: 1e6, loadBytesMax: 1e9 })
    await Promise.all(Array.from({ length: 20 }, (_, n) => spool.add(page(n * 100, 50), AT_NOON)))
    const [segment] = await spool.takeRest()
    const lines = (await readFile(segment?.file ?? '', 'utf8')).trimEnd().split('\n')
    expect(lines).toHaveLength(1_000)
    expect(lines.every((line) => typeof JSON.parse(line) === 'object')).toBe(true)
    expect(segment).toMatchObject({ rows: 1_000, bytes: Buffer.byteLength(`${lines.join('\n')}\n`) })
  })

  it('carries rejected rows with their page, and knows the longest row', async () => {
    await using folder = await aFolder()
    await using spool = new Spool(folder.path, scan('[]').catalog, { loadRowsMax: 1e6, loadBytesMax: 1e9 })
    await spool.add(scan('[{"id":1,"text":"0123456789"},5]'), AT_NOON)
    await spool.add(scan('[{"x":1}]'), AT_NOON)
    const [segment] = await spool.takeRest()
    expect(segment?.rejected.map(({ pageIndex, text }) => [pageIndex, text])).toEqual([
      [0, '5'],
      [1, '{"x":1}'],
    ])
    expect(segment?.rowBytesMax).toBeGreaterThanOrEqual('{"id":1,"text":"0123456789"}'.length)
  })

  it('takes pages back as if they had never come, with their items and rejected rows', async () => {
    await using folder = await aFolder()
    const limits = { loadRowsMax: 1e6, loadBytesMax: 1e9 }
    const given = { collections: ['context', 'notes'] }
    const wrong = '[{"id":2,"context":[{"a":2},{"a":3}],"notes":[{"b":1}]},8]'
    const segmentOf = async (name: string, taken: readonly string[]) => {
      const first = scan('[{"id":1,"context":[{"a":1}]},7]', given)
      const spool = new Spool(join(folder.path, name), first.catalog, limits)
      await spool.add(first, AT_NOON)
      const position = await spool.position()
      for (const each of taken) await spool.add(scan(each, given), AT_NOON)
      await spool.rewindTo(position)
      await spool.add(scan('[{"id":3,"context":[{"a":4}]}]', given), AT_NOON)
      const [segment] = await spool.takeRest()
      const files = segment === undefined ? [] : filesOf(segment)
      const texts = await Promise.all(files.map((file) => readFile(file, 'utf8')))
      return { rows: segment?.rows, rejected: segment?.rejected.map(({ text }) => text), rowsIn: texts.map(plainLines) }
    }
    const taken = await segmentOf('taken', [wrong, wrong])
    expect(taken).toEqual(await segmentOf('never', []))
    expect(taken).toMatchObject({ rows: 2, rejected: ['7'] })
    expect(taken.rowsIn.map((lines) => lines.length)).toEqual([2, 2])
  })

  it('takes back pages that were the first of their segment', async () => {
    await using folder = await aFolder()
    await using spool = new Spool(folder.path, scan('[]').catalog, { loadRowsMax: 1e6, loadBytesMax: 1e9 })
    const position = await spool.position()
    await spool.rewindTo(position)
    await spool.add(page(1, 3), AT_NOON)
    await spool.rewindTo(position)
    await spool.add(page(9, 1), AT_NOON)
    const [segment] = await spool.takeRest()
    expect(segment).toMatchObject({ rows: 1, pages: [{ index: 1 }] })
    expect(plainLines(await readFile(segment?.file ?? '', 'utf8'))).toEqual(['"id":9}'])
  })

  it('gives back the memory of lines as soon as they are written, unless they share it with others', async () => {
    await using folder = await aFolder()
    await using spool = new Spool(folder.path, scan('[]').catalog, { loadRowsMax: 1e6, loadBytesMax: 1e9 })
    const [written, neighbour] = [Buffer.from('{}\n'), Buffer.from('neighbour')]
    expect(written.buffer).toBe(neighbour.buffer)
    const given = Buffer.alloc(1e6, 'x')
    for (const lines of [given, written]) await spool.add({ ...page(1, 1), lines: () => lines }, AT_NOON)
    expect([given.length, written.toString(), neighbour.toString()]).toEqual([0, '{}\n', 'neighbour'])
    expect(await spool.takeRest()).toMatchObject([{ bytes: 1e6 + 3 }])
  })

  it('writes the items of a page once, since their memory is given back', async () => {
    await using folder = await aFolder()
    const once = scan('[{"id":1,"context":[{"a":1}]}]', { collections: ['context'] })
    await using spool = new Spool(folder.path, once.catalog, { loadRowsMax: 1e6, loadBytesMax: 1e9 })
    await spool.add(once, AT_NOON)
    await expect(spool.add(once, AT_NOON)).rejects.toThrow('the items of context were written before')
  })

  it('removes its folder when it is disposed of', async () => {
    await using folder = await aFolder()
    const path = join(folder.path, 'spool')
    {
      await using spool = new Spool(path, scan('[]').catalog, { loadRowsMax: 10, loadBytesMax: 1e6 })
      await spool.add(page(1, 3), AT_NOON)
      expect(await readdir(path)).toHaveLength(1)
    }
    expect(existsSync(path)).toBe(false)
  })

  it('says what keeps it from writing, and goes on with nothing of that page', async () => {
    await using folder = await aFolder()
    const file = join(folder.path, 'file')
    await writeFile(file, '')
    const spool = new Spool(join(file, 'spool'), scan('[]').catalog, { loadRowsMax: 10, loadBytesMax: 1e6 })
    await expect(spool.add(page(1, 3), AT_NOON)).rejects.toThrow(/ENOTDIR/)
    expect(await spool.takeRest()).toEqual([])
  })
  it('gives DISK_FULL when no space is left', async () => {
    await using folder = await aFolder()
    await symlink('/dev/full', join(folder.path, 'segment-0.ndjson'))
    await using spool = new Spool(folder.path, scan('[]').catalog, { loadRowsMax: 10, loadBytesMax: 1e6 })
    await expect(spool.add(page(1, 3), AT_NOON)).rejects.toMatchObject({ code: 'DISK_FULL' })
  })
})
