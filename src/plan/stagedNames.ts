/** Names and limits shared by the code that writes staged lines and the SQL that reads them. */

export const ORDINAL_FIELD = '#'
export const SHAPE_FIELD = '$'

/** Row `n` of page `p` has the ordinal `p × ROWS_A_PAGE + n`. */
export const ROWS_A_PAGE = 2 ** 24

/** If its values differ in a collection, they become the keys of the child rows. */
export const CHILD_ID_FIELD = 'id'

/** Space that is reserved in the staged lines of collections, and filled later. */
export const ORDINAL_DIGITS = 16

/** Further fields of an item are read from the item's JSON. */
export const ITEM_FIELDS_MAX = 128

/** A null or missing field. No real value is equal, because this text is not valid JSON. */
export const NO_VALUE = '\\N'
