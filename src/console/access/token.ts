/**
 * The token that opens the console: made here when nobody set one, and compared without telling by time how far it
 * agrees.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { Secret } from '../../secret.ts'

const TOKEN_BYTES = 24

export const newToken = (): Secret => new Secret(randomBytes(TOKEN_BYTES).toString('base64url'))

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

/** Digests have one length, so the comparison takes as long for any guess. */
export const isToken = (token: Secret, guess: string): boolean => timingSafeEqual(digest(token.reveal()), digest(guess))
