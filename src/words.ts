/** Numbers and nouns as text. */

export const grouped = (value: number): string => value.toLocaleString('en-US')

/** Returns, for example, `1 page` or `12 pages`. */
export const counted = (value: number, noun: string): string => `${grouped(value)} ${noun}${value === 1 ? '' : 's'}`
