/** Makes the console's token if none is configured, and compares tokens in constant time. */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { Secret } from '../../secret.ts'

const TOKEN_BYTES = 24

export const newToken = (): Secret => new Secret(randomBytes(TOKEN_BYTES).toString('base64url'))

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

/** Returns whether the guess is right. Compares digests, because they have the same length for every guess. */
export const isToken = (token: Secret, guess: string): boolean => timingSafeEqual(digest(token.reveal()), digest(guess))
