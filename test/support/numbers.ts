/** Decimal numbers as text, compared by value to the last digit. */

/** Returns a decimal's value as `digits e power`, without zeros at either end: equal for all forms of one number. */
export function canonical(text: string): string {
  const [, sign = '', whole = '', fraction = '', power = '0'] = /^(-?)(\d+)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/.exec(
    text,
  ) ?? [undefined, '', `no number: ${text}`]
  const digits = (whole + fraction).replace(/^0+/, '')
  if (digits === '') return '0'
  const short = digits.replace(/0+$/, '')
  return `${sign}${short}e${Number(power) - fraction.length + digits.length - short.length}`
}
