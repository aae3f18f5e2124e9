/** What the staged lines and the statements that read them agree on. */

/** The two leading fields of every staged row; a service's own field of that name is respelled. */
export const ORDINAL_FIELD = '#'
export const SHAPE_FIELD = '$'

/** A row's ordinal is `page index × ROWS_A_PAGE + row`: it fits a BIGINT and orders the rows of a load. */
export const ROWS_A_PAGE = 2 ** 24

/** The field of a collection's item that gives its child row's key, where it is unique. */
export const CHILD_ID_FIELD = 'id'

/** Digits of an ordinal in the lines of collections, with leading zeros. */
export const ORDINAL_DIGITS = 16

/** So many fields of a collection's items have columns in its lines; values of others are found in the item. */
export const ITEM_FIELDS_MAX = 128

/** What stands in those lines for a field that is null or not there: no JSON string can hold it. */
export const NO_VALUE = '\\N'
