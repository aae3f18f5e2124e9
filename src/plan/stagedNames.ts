/** What the staged lines and the statements that read them agree on. */

/** The two leading fields of every staged row; a service's own field of that name is respelled. */
export const ORDINAL_FIELD = '#'
export const SHAPE_FIELD = '$'

/** A row's ordinal is `page index × ROWS_A_PAGE + row`: it fits a BIGINT and orders the rows of a load. */
export const ROWS_A_PAGE = 2 ** 24
