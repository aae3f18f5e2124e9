/**
 * Exact decimal text (spec §2: `decimal`). Amounts are whole nano-units and become JSON numbers as text, never via a
 * double, so that a reader who goes through one loses digits and is found out.
 */
import { draw } from './draw.ts'

const NANO = 1_000_000_000
const CENT = 10_000_000

/** Whole units, and nano-units below one. */
type Parts = readonly [number, number]

/** A decimal with at most nine fractional digits and no trailing zeros. */
export function decimalText(nano: bigint): string {
  const size = nano < 0n ? -nano : nano
  const whole = size / BigInt(NANO)
  return `${nano < 0n ? '-' : ''}${whole}${fractionText(Number(size - whole * BigInt(NANO)))}`
}

/** A believable amount: mostly cents, some with nine digits, some with more than fifteen significant ones. */
export function drawAmount(seed: number, row: number, purpose: number): bigint {
  const [whole, nano] = drawParts(seed, row, purpose)
  return BigInt(whole) * BigInt(NANO) + BigInt(nano)
}

/** The same as text. */
export function amountText(seed: number, row: number, purpose: number): string {
  const [whole, nano] = drawParts(seed, row, purpose)
  return `${whole}${fractionText(nano)}`
}

/** Cents, for amounts that stay far from the limits of a double. */
export function centsText(drawn: number): string {
  const cents = drawn % 2_500_000
  return `${Math.floor(cents / 100)}${fractionText((cents % 100) * CENT)}`
}

function drawParts(seed: number, row: number, purpose: number): Parts {
  const kind = draw(seed, row, purpose) % 10
  const large = draw(seed, row, purpose + 1)
  const nano = draw(seed, row, purpose + 2) % NANO
  if (kind < 6) return [large % 50_000, (nano % 100) * CENT]
  if (kind < 8) return [large % 100_000, nano]
  return kind < 9 ? [large, nano] : [large % 90_000, 0]
}

function fractionText(nano: number): string {
  if (nano === 0) return ''
  let digits = 9
  let rest = nano
  while (rest % 10 === 0) {
    rest /= 10
    digits -= 1
  }
  return `.${String(rest).padStart(digits, '0')}`
}
