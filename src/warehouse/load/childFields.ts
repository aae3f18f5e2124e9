/**
 * Fields of a collection's items that every child table has columns for, beside those that the items' own fields get.
 */

/** Fills `is_deleted`; the item's identifier, which fills `_child_key`, is known to staging too. */
export const CHILD_DELETED_FIELD = 'isDeleted'
