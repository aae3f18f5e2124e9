/** Numbers as text, compared by value to the last digit: 12.50 is 12.5, 1e3 is 1000. */

export function canonicalNumber(text: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? []
  const digits = `${whole}${fraction}`.replace(/^0+/, '')
  const stripped = digits.replace(/0+$/, '')
  const scale = Number(exponent) - fraction.length + (digits.length - stripped.length)
  return stripped === '' ? '0' : `${sign}${stripped}e${scale}`
}
