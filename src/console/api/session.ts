/** Logging in and out. */
import { z } from 'zod'
import { checkToken, type GateParts, logIn } from '../access/gate.ts'
import { type Endpoint, endpoint } from './endpoint.ts'

const LoggedIn = z.object({ logged_in: z.boolean() })
const TOKEN_LENGTH_MAX = 1_000

export const sessionEndpoints = (parts: GateParts): readonly Endpoint[] => [
  endpoint({
    method: 'POST',
    path: '/api/session',
    summary: 'Opens a session with the token of the console',
    open: true,
    body: z.strictObject({ token: z.string().min(1).max(TOKEN_LENGTH_MAX) }),
    answer: LoggedIn,
    does: async ({ body, request, reply }) => {
      checkToken(parts, request, body.token)
      logIn(parts, request, reply)
      return { logged_in: true }
    },
  }),
  endpoint({
    method: 'GET',
    path: '/api/session',
    summary: 'Whether the session is open',
    answer: LoggedIn,
    does: async () => ({ logged_in: true }),
  }),
  endpoint({
    method: 'DELETE',
    path: '/api/session',
    summary: 'Closes the session',
    answer: LoggedIn,
    does: async ({ request, reply }) => {
      parts.sessions.end(request.session)
      reply.clearCookie(parts.cookie, { path: '/' })
      return { logged_in: false }
    },
  }),
]
