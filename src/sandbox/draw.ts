/**
 * Chance without state: a draw is a hash of (seed, row, purpose), so that any row can be made at any time, in any
 * order, and still be the same row. This is what lets a million rows be serialised only when somebody reads them.
 */

/** An unsigned 32-bit number that depends on all three and looks random. */
export function draw(seed: number, row: number, purpose: number): number {
  let h = (seed ^ Math.imul(row + 1, 0x9e3779b1) ^ Math.imul(purpose + 1, 0x85ebca77)) | 0
  h = Math.imul(h ^ (h >>> 16), 0x21f0aaad)
  h = Math.imul(h ^ (h >>> 15), 0x735a2d97)
  return (h ^ (h >>> 15)) >>> 0
}

/** Uniform in [0, 1). */
export const fraction = (seed: number, row: number, purpose: number): number => draw(seed, row, purpose) / 2 ** 32

/** True for about `percent` of the rows. */
export const chance = (percent: number, drawn: number): boolean => drawn % 100 < percent

export function pick<T>(from: readonly T[], drawn: number): T {
  return from[drawn % from.length] as T
}

/** A number for a name, so that purposes and reports can be written as words. */
export function hashOf(text: string): number {
  let h = 0x811c9dc5
  for (let i = 0; i < text.length; i += 1) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193)
  return h >>> 0
}
