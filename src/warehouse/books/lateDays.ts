/** For how long late rows are told of. */

/** What was mended since must not be advised for ever. */
export const LATE_DAYS = 30
