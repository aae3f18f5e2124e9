/** The roles of a worker process, and the parser of the option `--roles`. */
import { usageError } from '../errors.ts'

export const ROLES = ['pull', 'load', 'schedule', 'console'] as const
export type Role = (typeof ROLES)[number]

/** Throws USAGE_INVALID for an unknown role. */
export function rolesOf(text: string | undefined): ReadonlySet<Role> {
  if (text === undefined) return new Set(ROLES)
  const names = text.split(',').map((name) => name.trim())
  const roles = ROLES.filter((role) => names.includes(role))
  const unknown = names.find((name) => !ROLES.some((role) => role === name))
  if (unknown === undefined && roles.length > 0) return new Set(roles)
  const cure = `Roles are ${ROLES.join(', ')}, separated by commas. Without --roles, a worker has all of them.`
  throw usageError(`there is no role "${unknown ?? ''}"`, cure)
}
