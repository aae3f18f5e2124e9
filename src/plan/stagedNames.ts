/** Names and limits that are common to the code that writes staged lines and the SQL that reads them. */

/** Each staged row begins with its ordinal and its shape (which fields it has). Fields with these names are renamed. */
export const ORDINAL_FIELD = '#'
export const SHAPE_FIELD = '$'

/** A row's ordinal is `page index × ROWS_A_PAGE + row`. It fits a BIGINT and orders the rows of a load. */
export const ROWS_A_PAGE = 2 ** 24

/** If each item of a collection has a different value in this field, the value is the key of the item's child row. */
export const CHILD_ID_FIELD = 'id'

/** Digits of an ordinal in staged lines of collections, with leading zeros, because ordinals are filled in later. */
export const ORDINAL_DIGITS = 16

/** Maximum number of an item's fields that staging writes separately. Other fields are read from the item's JSON. */
export const ITEM_FIELDS_MAX = 128

/** A null or missing field in the staged lines of collections. It is not valid JSON, so no value can be equal to it. */
export const NO_VALUE = '\\N'
