/** Names and limits that both the writer of staged lines and the SQL that reads them use. */

/** The two leading fields of every staged row. A field of the service with such a name is renamed. */
export const ORDINAL_FIELD = '#'
export const SHAPE_FIELD = '$'

/** A row's ordinal is `page index × ROWS_A_PAGE + row`. It fits a BIGINT and orders the rows of a load. */
export const ROWS_A_PAGE = 2 ** 24

/** The field of a collection's item that becomes the key of its child row, if it is unique. */
export const CHILD_ID_FIELD = 'id'

/** Digits of an ordinal in the lines of collections, with leading zeros. */
export const ORDINAL_DIGITS = 16

/** Fields of a collection's items that are columns of its lines; further fields are read from the item's JSON. */
export const ITEM_FIELDS_MAX = 128

/** Marks a field that is null or missing in these lines. No JSON string can have this value. */
export const NO_VALUE = '\\N'
