/** The declaration of a report, from which requests, tables and documents are made. */
import { z } from 'zod'

const FieldType = z.enum(['integer', 'decimal', 'date-time', 'string', 'boolean', 'json'])
/** The types of fields. The value of a `json` field is stored unchanged. @useDeclaredType */
export type FieldType = z.infer<typeof FieldType>
const ParameterType = z.enum(['integer', 'integer[]', 'string', 'boolean', 'date-time'])

const word = z.string().min(1)
const words = z.array(word).readonly()
const columnName = z.string().regex(/^[a-z][a-z0-9_]*$/, 'must have small letters, digits and _ only, such as order_id')
const columnNames = z.array(columnName)

const Field = z.readonly(
  z.strictObject({
    type: FieldType,
    /** The specification's description of the field. Becomes the comment on the column. */
    meaning: word,
    /** Other names of the field in rows. Example: `eventName` for the field `name`. */
    also: words.optional(),
  }),
)
/** A field of a row, which becomes a column. */
export interface Field extends z.infer<typeof Field> {}

const Collection = z.readonly(
  z.strictObject({
    /** The row's field that contains the collection. Example: `commission`. */
    field: word,
    holds: z.enum(['one', 'many']),
  }),
)
/** The items that a flag of `expand` adds to a row. */
export interface Collection extends z.infer<typeof Collection> {}

const RequestColumn = z.readonly(z.strictObject({ column: columnName, type: FieldType, meaning: word }))

/** The request parameters of a time range, which includes its bounds (spec §4, rule 1). */
const window = { since: word, until: word }

/** The usual names of the paging parameters and of an envelope's fields (spec §2). */
export const PAGES = { number: 'pageNumber', size: 'pageSize', items: 'items', total: 'totalCount' }
const Pages = z.strictObject({
  number: word.default(PAGES.number),
  size: word.default(PAGES.size),
  items: word.default(PAGES.items),
  total: word.default(PAGES.total),
})

const Deletes = z.enum(['flag', 'diff', 'absence', 'none'])
export type Deletes = z.infer<typeof Deletes>

export const Declaration = z.readonly(
  z.strictObject({
    /** The name in commands and settings, and of the table. Example: `catering_orders`. */
    name: columnName,
    /** Describes the rows in the comment on the table. Example: `Office reservations`. */
    meaning: word,
    /** The path after `{base_url}/reportingapi`. Example: `/v1/EventReport/GetEventsReport`. */
    path: z.string().startsWith('/', 'must begin with /'),
    /** Whether a response is an object with rows and their total, or an array of rows. */
    answer: z.enum(['envelope', 'array']),
    /** The OAuth scope that the report requires, if the specification names one (spec §5.3). */
    scope: word.optional(),
    /** The columns that identify a row. Example: `['order_id']`. */
    key: columnNames.min(1, 'must name the columns that identify a row').readonly(),
    /** Columns for values of the request, such as the currency. */
    asked: z.array(RequestColumn).readonly().default([]),
    /** The documented fields of a row, by name. */
    fields: z.readonly(z.record(z.string(), Field)),
    /** Columns with a modification time, which shows the newer of two versions of a row. */
    newerBy: columnNames.readonly().default([]),
    /** The parameters for a range of modification times. */
    window: z.readonly(z.strictObject({ ...window, required: z.boolean() })),
    /** The parameters for a range of creation times. */
    created: z.readonly(z.strictObject(window)).optional(),
    /** Names that differ from those in `PAGES`. */
    pages: z.readonly(Pages).prefault({}),
    /** How deletions are found: by a flag, by two different reads, or because rows are absent. */
    deletes: Deletes.default('none'),
    /** The field that is true in a deleted row. */
    deletedFlag: word.optional(),
    /** The request parameter that makes the service return deleted rows too. */
    includeDeleted: word.optional(),
    /** What a flag of `expand` adds: a collection or, with `'fields'`, fields of the row. */
    expand: z.readonly(z.record(z.string(), z.union([z.literal('fields'), Collection]))).default({}),
    /** Parameters that the setting `filters` may have, with their types. */
    filters: z.readonly(z.record(z.string(), ParameterType)).default({}),
    /** The parameter that names a currency. The report is read once for each currency. */
    currency: word.optional(),
    /** Audit reports only: which reports are audited. */
    perRecord: z.readonly(z.strictObject({ follows: z.enum(['enquiries', 'configured']) })).optional(),
  }),
)
/** A declaration with its defaults filled in. */
export interface Declaration extends z.output<typeof Declaration> {}
/** A declaration as written in a file. docs/ADDING-A-REPORT.md explains the properties. */
export interface DeclarationInput extends z.input<typeof Declaration> {}
export type PageNames = Declaration['pages']

const DEFAULTS = { asked: [], newerBy: [], deletes: 'none', expand: {}, filters: {} } as const

/** Returns the declaration of a report, with defaults. */
export function defineReport<const D extends DeclarationInput>(declaration: D): Declaration & D {
  return Object.freeze({ ...DEFAULTS, ...declaration, pages: { ...PAGES, ...declaration.pages } }) as Declaration & D
}

const field =
  (type: FieldType) =>
  (meaning: string, also?: readonly string[]): Field =>
    also === undefined ? { type, meaning } : { type, meaning, also }

/** Returns an integer field (BIGINT). `also` lists other names of the field. */
export const integer = field('integer')
/** Returns a field for exact decimal numbers (DECIMAL(38,9)). */
export const decimal = field('decimal')
/** Returns a field for times (TIMESTAMPTZ). A time without a zone is UTC. */
export const dateTime = field('date-time')
/** Returns a text field (VARCHAR). */
export const string = field('string')
/** Returns a field that is true or false (BOOLEAN). */
export const boolean = field('boolean')
/** Returns a field whose value is an object, stored unchanged (JSON). */
export const json = field('json')

/** Returns a collection whose field contains an array. */
export const many = (field: string): Collection => ({ field, holds: 'many' })
/** Returns a collection whose field contains one object or null. */
export const one = (field: string): Collection => ({ field, holds: 'one' })

/** Returns `many(flag)` for each flag of `expand`. */
export const manyOf = <const F extends readonly string[]>(...flags: F): Record<F[number], Collection> =>
  Object.fromEntries(flags.map((flag) => [flag, many(flag)])) as Record<F[number], Collection>
