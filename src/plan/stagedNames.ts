/** Names and limits shared by the code that writes staged lines and the SQL that reads them. */

/** Staging writes two fields before each row's own fields: the row's ordinal, and its shape (which fields it has). */
export const ORDINAL_FIELD = '#'
export const SHAPE_FIELD = '$'

/** Row `n` of page `p` has the ordinal `p × ROWS_A_PAGE + n`, so that ordinals keep the rows of a load in order. */
export const ROWS_A_PAGE = 2 ** 24

/** If this field is different in every item of a collection, its value becomes the key of the item's child row. */
export const CHILD_ID_FIELD = 'id'

/** Number of digits of an ordinal in the staged lines of collections. Their space is reserved, and filled later. */
export const ORDINAL_DIGITS = 16

/** Staging writes at most this many of an item's fields separately. The others are read from the item's JSON. */
export const ITEM_FIELDS_MAX = 128

/** A null or missing field in the staged lines of collections. No real value matches, because it is not valid JSON. */
export const NO_VALUE = '\\N'
