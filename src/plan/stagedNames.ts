/** Names and limits shared by the code that writes staged lines and the SQL that reads them. */

/** Each staged row begins with its ordinal and its shape (which fields it has). Fields with these names are renamed. */
export const ORDINAL_FIELD = '#'
export const SHAPE_FIELD = '$'

/** A row's ordinal is `page index × ROWS_A_PAGE + row`. It fits a BIGINT and orders the rows of a load. */
export const ROWS_A_PAGE = 2 ** 24

/** If this field is different in every item of a collection, its value becomes the key of the item's child row. */
export const CHILD_ID_FIELD = 'id'

/** Ordinals in staged lines of collections are filled in later, so leading zeros pad them to this many digits. */
export const ORDINAL_DIGITS = 16

/** Staging writes at most this many of an item's fields separately. The others are read from the item's JSON. */
export const ITEM_FIELDS_MAX = 128

/** A null or missing field in the staged lines of collections. No real value matches, because it is not valid JSON. */
export const NO_VALUE = '\\N'
