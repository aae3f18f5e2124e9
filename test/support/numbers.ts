/** Compares a sent value with a stored one: numbers to the last digit, times to the microsecond. */
import { canonical } from '../../src/cli/certify/compare.ts'
import { parseInstant } from '../../src/instant.ts'

/**
 * Returns whether `held` is the value that a column of this type stores for a scalar in JSON (docs/TABLES.md, Values). If
 * the type does not take the scalar, no value is: `_extra` or `_payload` must contain it.
 */
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

/** Two forms of numbers are allowed in texts and not in JSON: +1 and .5. */
const withoutPlus = (text: string): string => text.replace(/^\+/, '').replace(/^(-?)\./, '$10.')
