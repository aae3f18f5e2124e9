/** Encrypts the shared token, because others can read the store. */
import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto'
import { attempt } from '../../src/errors.ts'
import type { Secret } from '../../src/secret.ts'

const CIPHER = 'aes-256-gcm'
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
const PURPOSE = 'tidemark shared token 1'

export function tokenCipher({ identity, secret }: { readonly identity: string; readonly secret: Secret }) {
  const associated = Buffer.from(identity)
  // Derived for each call, because the client secret can change while the process runs.
  const key = () => Buffer.from(hkdfSync('sha256', secret.reveal(), associated, PURPOSE, KEY_BYTES))
  return {
    encrypt(text: string): string {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv(CIPHER, key(), nonce).setAAD(associated)
      const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
      return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url')
    },
    /** Returns undefined if the text was encrypted with another secret or identity. */
    decrypt(text: string): string | undefined {
      const bytes = Buffer.from(text, 'base64url')
      const nonce = bytes.subarray(0, NONCE_BYTES)
      const tag = bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES)
      if (tag.length < TAG_BYTES) return undefined
      const decipher = createDecipheriv(CIPHER, key(), nonce, { authTagLength: TAG_BYTES })
      decipher.setAAD(associated).setAuthTag(tag)
      const opened = decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES))
      return attempt(() => Buffer.concat([opened, decipher.final()]).toString('utf8'), undefined)
    },
  }
}

/** Returns a hash that replaces the client's identity in the store's keys, because others can read the store. */
export const identityHash = (identity: string): string =>
  createHash('sha256').update(identity).digest('base64url').slice(0, 22)
