/** Which room may import which, which package belongs where, and what to do about an import that strays. */
import type { SourceFile } from './source.ts'

interface Room {
  readonly mayImport: readonly string[]
  /** Rooms whose types may be named (`import type`), but whose code may not be loaded. */
  readonly typesOf?: readonly string[]
  /** What the room is, as the reason in the message. */
  readonly is: string
  readonly cure: string
}

const BELOW_THE_WORKER: readonly string[] = [
  'schema',
  'jobs',
  'src/plan',
  'src/config',
  'src/staging',
  'src/client',
  'src/warehouse',
  'src/reader',
  'src/sync',
  'src/console',
  'src/wiring',
  'src/status',
  'src/operations',
]

/** The ground is open to all and needs no mention; a room may always import itself. */
export const ROOMS: Readonly<Record<string, Room>> = {
  ground: { mayImport: [], is: 'the ground stands on nothing', cure: 'Move the code that needs it into a room.' },
  schema: { mayImport: [], is: 'schema is declarations only', cure: 'Declare the fact here and use it where it acts.' },
  'src/plan': {
    mayImport: ['schema'],
    is: 'plan is pure',
    cure: 'Move the call to the room that acts (src/client, src/warehouse, src/sync) and pass the value in.',
  },
  'src/config': {
    mayImport: ['schema'],
    is: 'configuration knows only the declarations',
    cure: 'Let src/cli pass the configuration in.',
  },
  'src/staging': {
    mayImport: ['src/plan', 'schema'],
    is: 'staging knows neither client nor warehouse',
    cure: 'Let src/sync pass in what staging needs.',
  },
  'src/client': {
    mayImport: ['src/plan', 'schema'],
    is: 'the client knows nothing behind the pages that it reads',
    cure: 'Let src/sync connect the two.',
  },
  'src/warehouse': {
    mayImport: ['src/plan', 'schema'],
    typesOf: ['src/staging'],
    is: 'the warehouse does not know where rows come from',
    cure: 'Let src/sync connect the two.',
  },
  'src/sync': {
    mayImport: ['src/plan', 'src/staging', 'schema'],
    typesOf: ['src/config', 'src/client', 'src/warehouse'],
    is: 'sync tells the story and is handed its rooms',
    cure: 'Take it as a parameter; src/wiring passes it in.',
  },
  'src/sandbox': {
    mayImport: [],
    is: 'the sandbox is an independent witness, written from the specification',
    cure: 'Write it from the specification once more: a shared misreading must not hide.',
  },
  jobs: {
    mayImport: ['src/sync', 'schema', 'src/config'],
    typesOf: ['src/client', 'src/warehouse', 'src/plan'],
    is: 'jobs only call sync',
    cure: 'Move the work to src/sync.',
  },
  'src/reader': {
    mayImport: ['src/warehouse', 'src/config'],
    is: 'the reader runs SQL of others and knows nothing that they must not reach',
    cure: 'Let the caller of openReader pass the value in.',
  },
  'src/console': {
    mayImport: ['src/operations', 'src/status', 'jobs', 'src/warehouse', 'src/reader', 'schema'],
    is: 'the console only shows and asks',
    cure: 'Read through src/warehouse and src/reader, act through src/operations.',
  },
  'src/operations': {
    mayImport: [
      'schema',
      'jobs',
      'src/plan',
      'src/config',
      'src/client',
      'src/warehouse',
      'src/sync',
      'src/status',
      'src/wiring',
    ],
    is: 'operations are what a command, the worker and the console ask for; they print nothing',
    cure: 'Print it in src/cli, serve it in src/console.',
  },
  'src/wiring': {
    mayImport: ['schema', 'jobs', 'src/plan', 'src/config', 'src/client', 'src/warehouse', 'src/sync'],
    is: 'wiring opens what the configuration names, for commands and for the worker',
    cure: 'Take it as a parameter.',
  },
  'src/status': {
    mayImport: ['schema', 'jobs', 'src/plan', 'src/config', 'src/warehouse', 'src/sync'],
    is: 'status reads how things are and prints nothing',
    cure: 'Print it in src/cli.',
  },
  'src/worker': {
    mayImport: BELOW_THE_WORKER,
    is: 'the worker wires the rooms for a process that runs until it is stopped',
    cure: 'Parse and print in src/cli.',
  },
  'src/library': {
    mayImport: [...BELOW_THE_WORKER, 'src/worker', 'src/sandbox'],
    is: 'the library is what programs and the command line use; it prints nothing',
    cure: 'Parse and print in src/cli.',
  },
  'src/cli': {
    mayImport: [...BELOW_THE_WORKER, 'src/worker', 'src/sandbox', 'src/library'],
    is: 'the command line wires the rooms',
    cure: 'Nothing in the product may depend on tests or benches.',
  },
}

/**
 * Within a room: folder → the folders of the same room that it may import. A file that is in no folder of the room counts
 * as the folder `.`, or as a folder of its own when it has a row. Example: `'context.ts': []` in src/sync, so that
 * folders may import `context.ts` and nothing else of the top. A room without rows is not checked.
 */
export const FOLDERS: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  'src/warehouse': {
    database: [],
    tables: ['database'],
    books: ['database', 'tables'],
    load: ['database', 'tables', 'books'],
    publish: ['database', 'tables', 'books'],
    '.': ['database', 'tables', 'books', 'load', 'publish'],
  },
  jobs: {
    stores: [],
    runs: [],
    tracing: [],
    queue: ['stores'],
    schedule: ['queue'],
    backfill: ['queue', 'runs'],
    owner: ['queue', 'runs', 'backfill', 'stores'],
    notify: ['runs'],
    metrics: ['runs', 'notify'],
  },
  'src/cli': {
    '.': [],
    check: ['.'],
    init: ['.'],
    certify: ['.', 'check'],
    actions: ['.', 'check', 'init', 'certify'],
    'commands.ts': ['.', 'actions'],
    'program.ts': ['.', 'commands.ts'],
    'main.ts': ['.', 'program.ts'],
  },
}

/** Package → where it may be imported, as the beginning of a file's name. */
const PACKAGES: Readonly<Record<string, { readonly home: string; readonly cure: string }>> = {
  undici: { home: 'src/client/', cure: 'Move the call to src/client.' },
  '@duckdb/node-api': {
    home: 'src/warehouse/database/duckdb.ts',
    cure: 'Move the call to src/warehouse/database/duckdb.ts.',
  },
  bullmq: { home: 'jobs/', cure: 'Move the call to jobs.' },
  ioredis: { home: 'jobs/', cure: 'Move the call to jobs.' },
  'prom-client': { home: 'jobs/metrics/', cure: 'Let what is watched come through src/observe.ts.' },
  'bullmq-otel': { home: 'jobs/tracing/', cure: 'Let what is watched come through src/observe.ts.' },
  '@opentelemetry': { home: 'jobs/tracing/', cure: 'Let what is watched come through src/observe.ts.' },
  pg: { home: 'jobs/stores/', cure: 'Move the call to jobs/stores.' },
  fastify: { home: 'src/console/', cure: 'Move the route to src/console.' },
  '@fastify': { home: 'src/console/', cure: 'Move the route to src/console.' },
  'fastify-type-provider-zod': { home: 'src/console/api/', cure: 'Move the route to src/console/api.' },
  '@electric-sql': { home: 'jobs/stores/', cure: 'Move the call to jobs/stores.' },
}

export function strayImports(files: readonly SourceFile[], roomOf: (name: string) => string): readonly string[] {
  return files.flatMap((file) =>
    file.imports.flatMap(({ from, file: target, typeOnly, line }) => {
      const place = `${file.name}:${line} imports`
      const room = ROOMS[file.room]
      if (room === undefined) return [`${file.name} is in no known room: add ${file.room} to test/rules/layers.ts.`]
      if (target !== undefined) return strayRoom(place, { room, own: file.room, asked: roomOf(target), typeOnly })
      return strayPackage(place, file, from)
    }),
  )
}

/** Returns the imports that go up from one folder of a room to another; those of types count too. */
export function strayFolders(files: readonly SourceFile[], folders = FOLDERS): readonly string[] {
  return files.flatMap((file) => {
    const rows = folders[file.room]
    if (rows === undefined) return []
    const own = folderOf(file.name, file.room, rows)
    const allowed = rows[own]
    if (allowed === undefined)
      return [`${file.name} is in no known folder: add ${own} to FOLDERS in test/rules/layers.ts.`]
    return file.imports.flatMap(({ file: target, line }) => {
      if (target === undefined || !target.startsWith(`${file.room}/`)) return []
      const folder = folderOf(target, file.room, rows)
      if (folder === own || allowed.includes(folder)) return []
      const may = allowed.length === 0 ? 'no other folder' : allowed.join(', ')
      return [
        `${file.name}:${line} imports ${target}: ${own} may import ${may} of ${file.room}. Move the code down, or pass the value in.`,
      ]
    })
  })
}

function folderOf(name: string, room: string, rows: Readonly<Record<string, unknown>>): string {
  const [first = '', second] = name.slice(room.length + 1).split('/')
  return second !== undefined || first in rows ? first : '.'
}

interface ImportedRoom {
  readonly room: Room
  readonly own: string
  readonly asked: string
  readonly typeOnly: boolean
}

function strayRoom(place: string, { room, own, asked, typeOnly }: ImportedRoom): readonly string[] {
  if (asked === own || asked === 'ground' || room.mayImport.includes(asked)) return []
  if (room.typesOf?.includes(asked) !== true) return [`${place} ${asked}: ${room.is}. ${room.cure}`]
  return typeOnly ? [] : [`${place} ${asked}: only its types may be named here. Write "import type", or: ${room.cure}`]
}

function strayPackage(place: string, file: SourceFile, from: string): readonly string[] {
  const pure = file.room === 'src/plan' && (from.startsWith('node:') || from in PACKAGES)
  const belongs = Object.entries(PACKAGES).find(([name]) => from === name || from.startsWith(`${name}/`))?.[1]
  if (belongs !== undefined && !file.name.startsWith(belongs.home)) {
    return [`${place} ${from}: ${pure ? 'plan is pure' : `it belongs to ${belongs.home}`}. ${belongs.cure}`]
  }
  return pure ? [`${place} ${from}: plan is pure. Move the call to the room that acts and pass the value in.`] : []
}

/** Each ring of files that import each other, once, as `a.ts → b.ts → a.ts`; types count too. */
export function cyclesIn(files: readonly SourceFile[]): readonly string[] {
  const next = new Map(files.map((file) => [file.name, file.imports.flatMap(({ file: target }) => target ?? [])]))
  const done = new Set<string>()
  const found: string[] = []
  const walk = (name: string, trail: readonly string[]): void => {
    const at = trail.indexOf(name)
    if (at >= 0) found.push([...trail.slice(at), name].join(' → '))
    if (at >= 0 || done.has(name)) return
    for (const target of next.get(name) ?? []) walk(target, [...trail, name])
    done.add(name)
  }
  for (const name of next.keys()) walk(name, [])
  return found
}
