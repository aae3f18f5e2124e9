/** The declaration of a report. Requests, tables and documents are made from declarations. */
import { z } from 'zod'

const FieldType = z.enum(['integer', 'decimal', 'date-time', 'string', 'boolean', 'json'])
/** The field types of the specification (§2). `json` is for an object that is stored unchanged. @useDeclaredType */
export type FieldType = z.infer<typeof FieldType>
const ParameterType = z.enum(['integer', 'integer[]', 'string', 'boolean', 'date-time'])

const word = z.string().min(1)
const words = z.array(word).readonly()
const columnName = z.string().regex(/^[a-z][a-z0-9_]*$/, 'must have small letters, digits and _ only, such as order_id')
const columnNames = z.array(columnName)

const Field = z.readonly(
  z.strictObject({
    type: FieldType,
    /** The specification's description of the field, which becomes the comment on the column. */
    meaning: word,
    /** Other names that rows use for this field. Example: `eventName` for the field `name` (spec §2, event row). */
    also: words.optional(),
  }),
)
/** A field of a row, which becomes a column. Functions such as `string` and `integer` return one. */
export interface Field extends z.infer<typeof Field> {}

const Collection = z.readonly(
  z.strictObject({
    /** The row's field with the collection. Example: `commission`, which the expand flag `commissions` adds. */
    field: word,
    holds: z.enum(['one', 'many']),
  }),
)
/** The items that a flag of `expand` adds to a row. They are stored in a child table. */
export interface Collection extends z.infer<typeof Collection> {}

const RequestColumn = z.readonly(z.strictObject({ column: columnName, type: FieldType, meaning: word }))

/** The two request parameters that bound a time range. Rows at both bounds are included (spec §4, rule 1). */
const window = { since: word, until: word }

/** The usual names of the paging parameters, and of an envelope's two fields: the rows and their total (spec §2). */
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
    /** The report's name in commands and settings. Its table has the same name. Example: `catering_orders`. */
    name: columnName,
    /** A description of the report's rows, used in the comment on the table. Example: `Office reservations`. */
    meaning: word,
    /** Path after `{base_url}/reportingapi`. In a request, the identifier of an enquiry replaces `{enquiryId}`. */
    path: z.string().startsWith('/', 'must begin with /'),
    /** The form of a response: an object with the rows and their total, or only an array of rows. */
    answer: z.enum(['envelope', 'array']),
    /** The OAuth scope that the report requires; undefined if the specification names none (spec §5.3). */
    scope: word.optional(),
    /** The columns that identify a row. Example: `['order_id']`. */
    key: columnNames.min(1, 'must name the columns that identify a row').readonly(),
    /** Columns for values that are in the request but not in the row: the requested currency or record. */
    asked: z.array(RequestColumn).readonly().default([]),
    /** The fields of a row, by name. Other fields become columns whose types are derived from their values. */
    fields: z.readonly(z.record(z.string(), Field)),
    /** Columns with a modification time. The first one with a value decides which of two versions of a row is newer. */
    newerBy: columnNames.readonly().default([]),
    /** The parameters for a range of modification times, and whether each request must have them. */
    window: z.readonly(z.strictObject({ ...window, required: z.boolean() })),
    /** The parameters for a range of creation times. Requests with them also return rows that were never edited. */
    created: z.readonly(z.strictObject(window)).optional(),
    /** The names of the paging parameters and of the envelope's fields, if they differ from those in `PAGES`. */
    pages: z.readonly(Pages).prefault({}),
    /** How to detect deletions. `diff`: by reads with and without deleted rows. `absence`: two reads lack the row. */
    deletes: Deletes.default('none'),
    /** The field that is true in a deleted row. */
    deletedFlag: word.optional(),
    /** The request parameter that makes the service return deleted rows too. */
    includeDeleted: word.optional(),
    /** The collection that each flag of `expand` adds. The value `'fields'` means that the flag adds fields to rows. */
    expand: z.readonly(z.record(z.string(), z.union([z.literal('fields'), Collection]))).default({}),
    /** Parameters of the request that the setting `filters` may contain, with their types. */
    filters: z.readonly(z.record(z.string(), ParameterType)).default({}),
    /** The parameter that names a currency. If it is set, the report is read once for each configured currency. */
    currency: word.optional(),
    /** Audit reports only: audits all enquiries or, with `configured`, the reports in the setting `entities`. */
    perRecord: z.readonly(z.strictObject({ follows: z.enum(['enquiries', 'configured']) })).optional(),
  }),
)
/** A declaration with its defaults filled in. */
export interface Declaration extends z.output<typeof Declaration> {}
/** A declaration as written in a file. docs/ADDING-A-REPORT.md explains the properties. */
export interface DeclarationInput extends z.input<typeof Declaration> {}
export type PageNames = Declaration['pages']

const DEFAULTS = { asked: [], newerBy: [], deletes: 'none', expand: {}, filters: {} } as const

/** Returns a report's declaration, frozen and with defaults. A report's file exports the result. */
export function defineReport<const D extends DeclarationInput>(declaration: D): Declaration & D {
  return Object.freeze({ ...DEFAULTS, ...declaration, pages: { ...PAGES, ...declaration.pages } }) as Declaration & D
}

const field =
  (type: FieldType) =>
  (meaning: string, also?: readonly string[]): Field =>
    also === undefined ? { type, meaning } : { type, meaning, also }

/** Returns an integer field (BIGINT). `meaning` becomes the column's comment. `also` lists the field's other names. */
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

/** Returns a collection: the row's field `field` contains an array. */
export const many = (field: string): Collection => ({ field, holds: 'many' })
/** Returns a collection: `field` of each row contains one object, or null. */
export const one = (field: string): Collection => ({ field, holds: 'one' })

/** Returns `many(flag)` for each `expand` flag. The flag and the field with the array must have the same name. */
export const manyOf = <const F extends readonly string[]>(...flags: F): Record<F[number], Collection> =>
  Object.fromEntries(flags.map((flag) => [flag, many(flag)])) as Record<F[number], Collection>
