/** Rooms import only the rooms below them; time, chance and the environment come in through one door each. */
import { describe, expect, it } from 'vitest'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { cyclesIn, FOLDERS, ROOMS, strayFolders, strayImports } from './layers.ts'
import { productFiles, ROOT, roomOf, sourceOf, type SourceFile } from './source.ts'

const files = productFiles()

const roomsNamedIn = (cell: string): string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name)

describe('imports', () => {
  it('go only to the rooms below', () => {
    expect(strayImports(files, roomOf)).toEqual([])
  })

  it('go only to the folders below, within a room', () => {
    expect(strayFolders(files)).toEqual([])
    const known = new Set(files.map(({ name }) => name))
    const missing = Object.entries(FOLDERS).flatMap(([room, rows]) =>
      Object.keys(rows).filter(
        (row) =>
          row !== '.' && !known.has(`${room}/${row}`) && ![...known].some((name) => name.startsWith(`${room}/${row}/`)),
      ),
    )
    expect(missing).toEqual([])
  })

  it.each([
    [
      'src/x/low/a.ts',
      `import type { B } from '../high/b.ts'`,
      'src/x/low/a.ts:1 imports src/x/high/b.ts: low may import top.ts of src/x. Move the code down, or pass the value in.',
    ],
    [
      'src/x/top.ts',
      `import './low/a.ts'`,
      'src/x/top.ts:1 imports src/x/low/a.ts: top.ts may import no other folder of src/x. Move the code down, or pass the value in.',
    ],
    ['src/x/low/a.ts', `import './b.ts'; import '../top.ts'; import '../../y/c.ts'`, undefined],
    ['src/x/main.ts', `import './low/a.ts'; import './top.ts'`, undefined],
    ['src/x/new/a.ts', '', 'src/x/new/a.ts is in no known folder: add new to FOLDERS in test/rules/layers.ts.'],
  ])('within a room are seen when they go up: %s with %s', (name, text, message) => {
    const rows = { 'top.ts': [], low: ['top.ts'], high: ['low', 'top.ts'], '.': ['low', 'high', 'top.ts'] }
    expect(strayFolders([sourceOf(name, text)], { 'src/x': rows })).toEqual(message === undefined ? [] : [message])
  })

  it('are those of the table in docs/ARCHITECTURE.md, in which a room imports only rooms above its line', () => {
    const text = readFileSync(path.join(ROOT, 'docs/ARCHITECTURE.md'), 'utf8')
    const lines = [...text.matchAll(/^\| (ground|`(?:schema|jobs|src\/\w+)`).*\| ([^|]*) \|$/gm)]
    const above: string[] = []
    const documented = lines.map(([, room = '', cell = '']) => {
      const [imports = [], typesOf = []] = cell.split('; types of ').map(roomsNamedIn)
      const mayImport = cell.startsWith('all above') ? above.filter((each) => !imports.includes(each)) : imports
      const below = [...mayImport, ...typesOf].filter((each) => !above.includes(each))
      const name = room.replaceAll('`', '')
      if (name !== 'ground') above.push(name)
      return [name, { mayImport: mayImport.toSorted(), typesOf: typesOf.toSorted(), below }]
    })
    const rooms = Object.entries(ROOMS).map(([name, { mayImport, typesOf = [] }]) => [
      name,
      { mayImport: mayImport.toSorted(), typesOf: typesOf.toSorted(), below: [] },
    ])
    expect(Object.fromEntries(documented)).toEqual(Object.fromEntries(rooms))
  })

  it('make no ring', () => {
    expect(cyclesIn(files)).toEqual([])
  })

  it.each([
    [
      'src/plan/window.ts',
      `import { request } from 'undici'`,
      'src/plan/window.ts:1 imports undici: plan is pure. Move the call to src/client.',
    ],
    [
      'src/plan/window.ts',
      `import path from 'node:path'`,
      'src/plan/window.ts:1 imports node:path: plan is pure. Move the call to the room that acts and pass the value in.',
    ],
    [
      'src/sync/pull.ts',
      `\nimport { open } from '../warehouse/open.ts'`,
      'src/sync/pull.ts:2 imports src/warehouse: only its types may be named here. Write "import type", or: Take it as a parameter; src/wiring passes it in.',
    ],
    [
      'src/client/read.ts',
      `export type { Rows } from '../warehouse/rows.ts'`,
      'src/client/read.ts:1 imports src/warehouse: the client knows nothing behind the pages that it reads. Let src/sync connect the two.',
    ],
    [
      'src/sandbox/world.ts',
      `type Name = import('../../schema/index.ts').ReportName`,
      'src/sandbox/world.ts:1 imports schema: the sandbox is an independent witness, written from the specification. Write it from the specification once more: a shared misreading must not hide.',
    ],
    [
      'src/warehouse/load/merge.ts',
      `await import('@duckdb/node-api')`,
      'src/warehouse/load/merge.ts:1 imports @duckdb/node-api: it belongs to src/warehouse/database/duckdb.ts. Move the call to src/warehouse/database/duckdb.ts.',
    ],
  ])('say what to do when they stray: %s with %s', (name, text, message) => {
    expect(strayImports([sourceOf(name, text)], roomOf)).toEqual([message])
  })

  it.each([
    ['src/sync/pull.ts', `import type { Warehouse } from '../warehouse/open.ts'`],
    ['src/plan/window.ts', `import { latest } from '../instant.ts'; import { reports } from '../../schema/index.ts'`],
    ['src/wiring/openContext.ts', `import { open } from '../warehouse/open.ts'`],
    ['src/warehouse/database/duckdb.ts', `import { DuckDBInstance } from '@duckdb/node-api'`],
  ])('may go down: %s with %s', (name, text) => {
    expect(strayImports([sourceOf(name, text)], roomOf)).toEqual([])
  })

  it('show a ring with all its files', () => {
    const ring = [
      sourceOf('src/a.ts', `import './b.ts'`),
      sourceOf('src/b.ts', `import type { C } from './c.ts'`),
      sourceOf('src/c.ts', `export * from './a.ts'`),
    ]
    expect(cyclesIn(ring)).toEqual(['src/a.ts → src/b.ts → src/c.ts → src/a.ts'])
  })
})

const isNamed = (node: { type: string; name?: unknown }, name: string) =>
  node.type === 'Identifier' && node.name === name

/** Reads of the clock, of chance and of timers. */
function doorsPassed(file: SourceFile): readonly string[] {
  const found: string[] = []
  const add = (what: string, offset: number) =>
    found.push(`${file.name}:${file.lineAt(offset)} uses ${what}: take a Clock (src/clock.ts) as a parameter.`)
  file.visit({
    MemberExpression: ({ object, property, start }) => {
      for (const [owner, member] of [
        ['Date', 'now'],
        ['Math', 'random'],
        ['performance', 'now'],
      ] as const)
        if (isNamed(object, owner) && isNamed(property, member)) add(`${owner}.${member}`, start)
    },
    NewExpression: ({ callee, arguments: given, start }) => {
      if (isNamed(callee, 'Date') && given.length === 0) add('new Date()', start)
    },
    Identifier: ({ name, start }) => {
      if (name === 'setTimeout' || name === 'setInterval') add(name, start)
    },
  })
  return found
}

/** What a pure room may not even mention. */
function impurities(file: SourceFile): readonly string[] {
  const found: string[] = []
  const add = (what: string, offset: number) =>
    found.push(
      `${file.name}:${file.lineAt(offset)} has ${what}: plan is pure. Do it in src/sync and pass the value in.`,
    )
  const addIfAsync = (node: { async: boolean; start: number }) => {
    if (node.async) add('async', node.start)
  }
  file.visit({
    FunctionDeclaration: addIfAsync,
    FunctionExpression: addIfAsync,
    ArrowFunctionExpression: addIfAsync,
    AwaitExpression: ({ start }) => add('await', start),
    Identifier: ({ name, start }) => {
      if (name === 'Date') add('Date', start)
    },
  })
  return found
}

function environmentReads(file: SourceFile): readonly string[] {
  const found: string[] = []
  file.visit({
    MemberExpression: ({ object, property, start }) => {
      if (!isNamed(object, 'process') || !isNamed(property, 'env')) return
      found.push(
        `${file.name}:${file.lineAt(start)} reads process.env: src/cli passes it to loadConfig; take what you need from Config.`,
      )
    },
  })
  return found
}

/** The program's, the one of the page in the browser, and the launcher, which every Node must be able to start. */
const CLOCKS = ['src/clock.ts', 'src/console/page/clock.js', 'bin/tidemark.js']

describe('doors', () => {
  it('let time and chance in only through src/clock.ts', () => {
    expect(files.filter(({ name }) => !CLOCKS.includes(name)).flatMap(doorsPassed)).toEqual([])
  })

  it('keep src/plan free of async, await and Date', () => {
    expect(files.filter(({ room }) => room === 'src/plan').flatMap(impurities)).toEqual([])
  })

  it('let the environment in only through src/cli and src/library', () => {
    expect(files.filter(({ room }) => room !== 'src/cli' && room !== 'src/library').flatMap(environmentReads)).toEqual(
      [],
    )
  })

  it('are seen when they are passed', () => {
    const file = sourceOf(
      'src/plan/x.ts',
      'const f = async () => await Date.now()\nsetTimeout(f, Math.random())\nprocess.env.HOME',
    )
    expect(doorsPassed(file)).toHaveLength(3)
    expect(impurities(file)).toHaveLength(3)
    expect(environmentReads(file)).toHaveLength(1)
  })
})
