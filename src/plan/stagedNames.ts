/** Names and limits that are used both by the writer of staged lines and by the SQL that reads these lines. */

/** One of the two fields at the beginning of every staged row. A field of the service with such a name is renamed. */
export const ORDINAL_FIELD = '#'
export const SHAPE_FIELD = '$'

/** A row's ordinal is `page index × ROWS_A_PAGE + row`. It fits a BIGINT and orders the rows of a load. */
export const ROWS_A_PAGE = 2 ** 24

/** The field of a collection's item that is the key of its child row, if each item has a different value. */
export const CHILD_ID_FIELD = 'id'

/** Number of digits, with leading zeros, of an ordinal in the staged lines of collections. */
export const ORDINAL_DIGITS = 16

/** Maximum number of an item's fields with a column in the staged lines; other fields are read from the item's JSON. */
export const ITEM_FIELDS_MAX = 128

/** Represents a null or missing field in the staged lines of collections. No JSON string can have this value. */
export const NO_VALUE = '\\N'
