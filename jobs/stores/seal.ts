/**
 * Encrypts what lies in a store that others can read too: AES-256-GCM under a key derived (HKDF) from the client secret
 * and bound to the client's identity. A store's operator learns nothing from it, and with another secret or for another
 * client it does not open.
 */
import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto'
import type { Secret } from '../../src/secret.ts'

const CIPHER = 'aes-256-gcm'
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
/** Names the layout, and separates this key from any other that the same secret may be used for. */
const PURPOSE = 'tidemark shared token 1'

export class Seal {
  readonly #secret: Secret
  readonly #identity: Buffer

  constructor({ identity, secret }: { readonly identity: string; readonly secret: Secret }) {
    this.#identity = Buffer.from(identity)
    this.#secret = secret
  }

  /** Made each time: the secret may have been read anew, and so may that of the other processes. */
  get #key(): Buffer {
    return Buffer.from(hkdfSync('sha256', this.#secret.reveal(), this.#identity, PURPOSE, KEY_BYTES))
  }

  close(text: string): string {
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv(CIPHER, this.#key, nonce).setAAD(this.#identity)
    const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
    return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url')
  }

  /** Undefined for whatever was not closed with this secret for this identity. */
  open(text: string): string | undefined {
    const bytes = Buffer.from(text, 'base64url')
    const nonce = bytes.subarray(0, NONCE_BYTES)
    const tag = bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES)
    if (tag.length < TAG_BYTES) return undefined
    const decipher = createDecipheriv(CIPHER, this.#key, nonce, { authTagLength: TAG_BYTES })
    decipher.setAAD(this.#identity).setAuthTag(tag)
    const opened = decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES))
    try {
      return Buffer.concat([opened, decipher.final()]).toString('utf8')
    } catch {
      return undefined
    }
  }
}

/** An identity as part of a name in the store: nobody reads a client id or a host out of it. */
export const nameOf = (identity: string): string =>
  createHash('sha256').update(identity).digest('base64url').slice(0, 22)
