/** "Did you mean": the nearest known word to a mistyped one, or none when nothing is near. */

/** At most a third of the word may differ: further away a suggestion confuses more than it helps. */
const FAR = 3

export function nearest(word: string, known: readonly string[]): string | undefined {
  const ranked = known
    .map((candidate) => ({ candidate, distance: distanceBetween(plain(word), plain(candidate)) }))
    .filter(({ candidate, distance }) => distance <= Math.max(word.length, candidate.length) / FAR)
    .toSorted((a, b) => a.distance - b.distance)
  return ranked[0]?.candidate
}

/** `; did you mean "events"?`, or the known words when none is near. */
export function hint(word: string, known: readonly string[]): string {
  const near = nearest(word, known)
  if (near !== undefined) return `; did you mean "${near}"?`
  return known.length === 0 ? '' : `; known are ${known.join(', ')}`
}

/** `pageSize`, `page-size` and `page_size` are the same word to a person. */
const plain = (word: string): string => word.toLowerCase().replaceAll(/[^a-z\d]/g, '')

/** Levenshtein: how many letters to add, drop or change. */
function distanceBetween(a: string, b: string): number {
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
