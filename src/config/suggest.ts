/** Finds the known word that is most similar to a mistyped word. */

const LETTERS_PER_TYPO_MIN = 3

export function nearest(word: string, known: readonly string[]): string | undefined {
  const ranked = known
    .map((candidate) => ({ candidate, distance: levenshteinDistance(plain(word), plain(candidate)) }))
    .filter(({ candidate, distance }) => distance <= Math.max(word.length, candidate.length) / LETTERS_PER_TYPO_MIN)
    .toSorted((a, b) => a.distance - b.distance)
  return ranked[0]?.candidate
}

/** Returns `; did you mean "events"?`, or the list of known words. */
export function hint(word: string, known: readonly string[]): string {
  const near = nearest(word, known)
  if (near !== undefined) return `; did you mean "${near}"?`
  return known.length === 0 ? '' : `; known are ${known.join(', ')}`
}

/** Returns a hint that also explains custom reports. */
export const reportHint = (word: string, known: readonly string[]): string =>
  nearest(word, known) === undefined
    ? `${hint(word, known)}; a report of your own needs its file in reports_from (docs/OWN-REPORTS.md)`
    : hint(word, known)

const plain = (word: string): string => word.toLowerCase().replaceAll(/[^a-z\d]/g, '')

function levenshteinDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (const [line, letter] of a.split('').entries()) {
    const next = [line + 1]
    for (const [column, other] of b.split('').entries()) {
      const changed = (row[column] ?? 0) + (letter === other ? 0 : 1)
      next.push(Math.min(changed, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1))
    }
    row = next
  }
  return row[b.length] ?? 0
}
