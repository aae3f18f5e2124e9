/** The declaration of a report. Requests, tables and documents are made from declarations. */
import { z } from 'zod'

/** The field types of the specification (§2). `json` is for an object that is stored unchanged. */
const FieldType = z.enum(['integer', 'decimal', 'date-time', 'string', 'boolean', 'json'])
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
export type Field = z.infer<typeof Field>

const Collection = z.readonly(
  z.strictObject({
    /** The row's field that contains the collection. Example: the flag `commissions` adds the field `commission`. */
    field: word,
    holds: z.enum(['one', 'many']),
  }),
)
export type Collection = z.infer<typeof Collection>

const RequestColumn = z.readonly(z.strictObject({ column: columnName, type: FieldType, meaning: word }))

/** The two request parameters that limit a range of time. Rows at both limits are included (spec §4, rule 1). */
const window = { since: word, until: word }

/** The names of the two paging parameters, and of the two fields of an envelope that are read (spec §2). */
export const PAGES = { number: 'pageNumber', size: 'pageSize', items: 'items', total: 'totalCount' }
const Pages = z.strictObject({
  number: word.default(PAGES.number),
  size: word.default(PAGES.size),
  items: word.default(PAGES.items),
  total: word.default(PAGES.total),
})

/** Evidence of a deletion. `diff`: a read without deleted rows lacks the row. `absence`: two complete reads lack it. */
const Deletes = z.enum(['flag', 'diff', 'absence', 'none'])
export type Deletes = z.infer<typeof Deletes>

/** The schema of a declaration. It checks declarations that are not part of Tidemark. */
export const Declaration = z.readonly(
  z.strictObject({
    name: columnName,
    meaning: word,
    /** Path after `{base_url}/reportingapi`. In a request, the identifier of an enquiry replaces `{enquiryId}`. */
    path: z.string().startsWith('/', 'must begin with /'),
    answer: z.enum(['envelope', 'array']),
    /** The OAuth scope that the report requires; undefined if the specification names none (spec §5.3). */
    scope: word.optional(),
    key: columnNames.min(1, 'must name the columns that identify a row').readonly(),
    /** Columns for values that are in the request and not in the row: the requested currency or record. */
    asked: z.array(RequestColumn).readonly().default([]),
    fields: z.readonly(z.record(z.string(), Field)),
    /** Columns with a modification time. The first one with a value decides which of two versions of a row is newer. */
    newerBy: columnNames.readonly().default([]),
    window: z.readonly(z.strictObject({ ...window, required: z.boolean() })),
    /** The parameters for a range of creation times. Requests with them also return rows that were never edited. */
    created: z.readonly(z.strictObject(window)).optional(),
    pages: z.readonly(Pages).prefault({}),
    deletes: Deletes.default('none'),
    deletedFlag: word.optional(),
    includeDeleted: word.optional(),
    /** The collection that each flag of `expand` adds. The value `'fields'` means that the flag adds fields to rows. */
    expand: z.readonly(z.record(z.string(), z.union([z.literal('fields'), Collection]))).default({}),
    filters: z.readonly(z.record(z.string(), ParameterType)).default({}),
    /** The name of a parameter. The report is read once for each configured currency. */
    currency: word.optional(),
    /** Only for audit reports. `configured` means that the setting `entities` names the records to request. */
    perRecord: z.readonly(z.strictObject({ follows: z.enum(['enquiries', 'configured']) })).optional(),
  }),
)
export type Declaration = z.output<typeof Declaration>
export type PageNames = Declaration['pages']

const DEFAULTS = { asked: [], newerBy: [], deletes: 'none', expand: {}, filters: {} } as const

/** Returns the declaration, frozen and with defaults. Its type keeps literals such as `'events'`. */
export function defineReport<const D extends z.input<typeof Declaration>>(declaration: D): Declaration & D {
  return Object.freeze({ ...DEFAULTS, ...declaration, pages: { ...PAGES, ...declaration.pages } }) as Declaration & D
}

const field =
  (type: FieldType) =>
  (meaning: string, also?: readonly string[]): Field =>
    also === undefined ? { type, meaning } : { type, meaning, also }

export const integer = field('integer')
export const decimal = field('decimal')
export const dateTime = field('date-time')
export const string = field('string')
export const boolean = field('boolean')
export const json = field('json')

export const many = (field: string): Collection => ({ field, holds: 'many' })
export const one = (field: string): Collection => ({ field, holds: 'one' })

export const manyOf = <const F extends readonly string[]>(...flags: F): Record<F[number], Collection> =>
  Object.fromEntries(flags.map((flag) => [flag, many(flag)])) as Record<F[number], Collection>
