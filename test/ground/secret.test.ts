/** A secret cannot be printed by any means but reveal() (product contract §5.8). */
import { format, inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { asSyncError, SyncError } from '../../src/errors.ts'
import { Secret } from '../../src/secret.ts'

const VALUE = 'hunter2-hunter2'
const secret = new Secret(VALUE)
/** As it is where somebody takes it for a text. */
const inText = secret as unknown as string

const WAYS: Record<string, () => unknown> = {
  'a template': () => `with ${inText}`,
  'String()': () => String(secret),
  'a sum with text': () => 'with '.concat(inText),
  'toLocaleString()': () => secret.toLocaleString(),
  'JSON.stringify': () => JSON.stringify({ secret, list: [secret] }),
  'JSON.stringify with a replacer': () => JSON.stringify({ secret }, (_key, value: unknown) => value, 2),
  inspect: () => inspect(secret),
  'inspect of all there is': () =>
    inspect(
      { deep: { secret } },
      { showHidden: true, depth: null, getters: true, showProxy: true, customInspect: false },
    ),
  'format with every sign': () =>
    format('%s %o %O %j %d %i %f %c', secret, secret, secret, secret, secret, secret, secret, secret),
  'its keys': () => [...Object.keys(secret), ...Object.getOwnPropertyNames(secret), ...Reflect.ownKeys(secret)].join(),
  'its entries': () => JSON.stringify([Object.entries(secret), Object.assign({}, secret)]),
  'its property descriptors': () => inspect(Object.getOwnPropertyDescriptors(secret), { depth: null }),
  'a clone': () => inspect(structuredClone({ secret }), { depth: null, showHidden: true }),
  'an error that carries it': () => {
    const error = new SyncError('UNEXPECTED', `with ${inText}`, { cure: 'none', data: { secret }, cause: secret })
    return `${inspect(error, { depth: null, showHidden: true })} ${JSON.stringify(error)} ${error.stack}`
  },
  'being thrown': () => inspect(asSyncError(secret), { depth: null }),
  'a map, a set and a proxy': () =>
    inspect([new Map([[secret, secret]]), new Set([secret]), new Proxy(secret, {})], { depth: null }),
  'being a key': () => JSON.stringify({ [inText]: 1 }),
  'its class': () => `${inspect(Secret, { showHidden: true, depth: null })} ${Secret.toString()}`,
}

describe('a secret', () => {
  it.each(Object.keys(WAYS))('does not show in %s', (way) => {
    expect(String(WAYS[way]?.())).not.toContain('hunter2')
  })

  it('says that it is one', () => {
    expect([`a ${inText}`, inspect(secret), JSON.stringify(secret)]).toEqual(['a [secret]', '[secret]', '"[secret]"'])
  })

  it('returns its value only by its own method', () => {
    expect(secret.reveal()).toBe(VALUE)
  })
})
