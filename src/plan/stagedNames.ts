/** Names and limits shared by the code that writes staged lines and the SQL that reads them. */

export const ORDINAL_FIELD = '#'
export const SHAPE_FIELD = '$'

/** Row `n` of page `p` has the ordinal `p × ROWS_A_PAGE + n`. */
export const ROWS_A_PAGE = 2 ** 24

/** The field that identifies an item. If it is unique in a collection, it becomes the key of the child row. */
export const CHILD_ID_FIELD = 'id'

/** The staged line of an item begins with the ordinal of its row, in this many digits, which are filled in last. */
export const ORDINAL_DIGITS = 16

/** At most this many fields of an item are staged as columns. Other fields are read from the item's JSON. */
export const ITEM_FIELDS_MAX = 128

/** A null or missing field. No value of a field can equal this text, because it is not valid JSON. */
export const NO_VALUE = '\\N'
