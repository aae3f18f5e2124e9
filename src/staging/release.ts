/**
 * Gives the memory of a buffer back at once; nobody may use it any more. Left to V8, which counts such memory little, the
 * lines of some ten pages would wait for it.
 */
export function release({ buffer }: Buffer): void {
  // A small buffer shares its memory with others.
  if (buffer instanceof ArrayBuffer && buffer.byteLength > Buffer.poolSize) buffer.transfer(0)
}
