/** Compares a sent value with a stored one: numbers exactly, times to the microsecond. */
import { canonical } from '../../src/cli/certify/compare.ts'
import { parseInstant } from '../../src/instant.ts'

/** Returns whether a column of this type stores the scalar as `held` (docs/TABLES.md, Values). */
export function isHeldAs(sent: string, held: string | null, type: string): boolean {
  const isText = sent.startsWith('"')
  const text = isText ? (JSON.parse(sent) as string) : sent
  if (sent === 'null') return held === null
  if (held === null) return type !== 'VARCHAR' && isText && text.trim() === ''
  if (type === 'VARCHAR') return text === held || (!isText && canonical(text) === canonical(held))
  if (type === 'BOOLEAN') return held === BOOLEANS[text.trim()]
  if (type.startsWith('TIMESTAMP') || type === 'DATE') {
    const instant = parseInstant(text.trim())
    return instant !== undefined && instant === parseInstant(held)
  }
  return canonical(withoutPlus(text.trim())) === canonical(held)
}

const BOOLEANS: Partial<Record<string, string>> = { true: 'true', 1: 'true', false: 'false', 0: 'false' }

/** A text may have the numbers +1 and .5, JSON may not. */
const withoutPlus = (text: string): string => text.replace(/^\+/, '').replace(/^(-?)\./, '$10.')
