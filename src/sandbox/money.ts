/** Amounts are whole multiples of 10⁻⁹, because doubles lose digits. */
export const NANO = 1_000_000_000
export const NANO_PER_CENT = 10_000_000

/** `JSON.rawJSON` and the `context` of a reviver exist in Node, but TypeScript does not declare them yet. */
const exactJson = JSON as unknown as {
  rawJSON(text: string): unknown
  parse(text: string, reviver: (key: string, value: unknown, context?: { source?: string }) => unknown): unknown
}

export const exact = (text: string): unknown => exactJson.rawJSON(text)

/** Parses JSON without rounding integers beyond 2^53. */
export const parseExact = (text: string): unknown =>
  exactJson.parse(text, (_, value, { source = '' } = {}) =>
    typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(source) ? BigInt(source) : value,
  )

export function decimalText(nano: bigint): string {
  const size = nano < 0n ? -nano : nano
  const rest = size % BigInt(NANO)
  const digits = rest === 0n ? '' : `.${String(rest).padStart(9, '0').replace(/0+$/, '')}`
  return `${nano < 0n ? '-' : ''}${size / BigInt(NANO)}${digits}`
}

export const PER_EURO_MICROS = {
  EUR: 1_000_000,
  USD: 1_084_300,
  GBP: 853_200,
  CHF: 967_450,
  SEK: 11_304_900,
  NOK: 11_561_200,
  DKK: 7_459_800,
  PLN: 4_312_750,
  CZK: 24_731_000,
  JPY: 162_480_000,
  AUD: 1_641_900,
  CAD: 1_472_350,
} as const

export type Currency = keyof typeof PER_EURO_MICROS

export const CURRENCIES = Object.keys(PER_EURO_MICROS) as readonly Currency[]

export const isCurrency = (code: string): code is Currency => Object.hasOwn(PER_EURO_MICROS, code)
