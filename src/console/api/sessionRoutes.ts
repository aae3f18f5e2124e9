/** Routes that log in and out. */
import { z } from 'zod'
import { checkToken, type GateOptions, logIn } from '../access/gate.ts'
import { type Api, answers } from './api.ts'

const LoggedIn = z.object({ logged_in: z.boolean() })
const TOKEN_LENGTH_MAX = 1_000

const Token = z.strictObject({ token: z.string().min(1).max(TOKEN_LENGTH_MAX) })

export function addSessionRoutes(api: Api, gate: GateOptions): void {
  const opening = answers(LoggedIn, 'Opens a session with the token of the console', { body: Token })
  api.post('/api/session', { ...opening, config: { open: true } }, async (request, reply) => {
    checkToken(gate, request, request.body.token)
    logIn(gate, request, reply)
    return { logged_in: true }
  })
  api.get('/api/session', answers(LoggedIn, 'Whether the session is open'), async () => ({ logged_in: true }))
  api.delete('/api/session', answers(LoggedIn, 'Closes the session'), async (request, reply) => {
    gate.sessions.end(request.session)
    reply.clearCookie(gate.cookie, { path: '/' })
    return { logged_in: false }
  })
}
