/**
 * The webhook that is told when somebody should look: its settings, and the secret that its notices are signed with.
 */
import path from 'node:path'
import { z } from 'zod'
import { Secret } from '../secret.ts'
import { lagProblem, webhookProblem } from './checks.ts'
import { NOTIFY_SECRET, NOTIFY_SECRET_FILE } from './environment.ts'
import { checked, text, whole } from './fields.ts'
import type { Path, Problem } from './problems.ts'
import type { NotifyConfig } from './shape.ts'
import { readSecret, type Sources } from './sources.ts'
import { parseDuration } from './units.ts'

/** Whoever guesses it can make a receiver believe anything. */
const SECRET_CHARS_MIN = 16

export const notifySection = z
  .strictObject({
    webhook: checked(
      webhookProblem,
      'Address that notices are posted to: https, or http on this machine (TIDEMARK_NOTIFY_WEBHOOK)',
    ).optional(),
    secret_file: text(
      'File that holds the secret that notices are signed with (TIDEMARK_NOTIFY_SECRET_FILE, or the secret itself in TIDEMARK_NOTIFY_SECRET); never in this file',
    ).optional(),
    lag: checked(lagProblem, 'A mark that is further behind than this is told (TIDEMARK_NOTIFY_LAG)').default('1h'),
    failures: whole().min(1).max(100).default(3).describe('A report that fails so often in a row is told'),
  })
  .prefault({})
  .describe('Whom the worker tells when somebody should look; nobody without a webhook')

type Raw = z.output<typeof notifySection>

/** The secret, or what is wrong with it; undefined where no webhook is set. */
export async function notifySecretOf(
  { webhook, secret_file: file }: Raw,
  { env, folder }: Sources,
  whereOf: (path: Path) => string,
): Promise<Secret | Problem | undefined> {
  if (webhook === undefined) return undefined
  const direct = env[NOTIFY_SECRET]
  if (direct !== undefined && env[NOTIFY_SECRET_FILE] !== undefined)
    return { where: NOTIFY_SECRET, problem: `${NOTIFY_SECRET_FILE} is set too: keep one of the two` }
  const where = direct === undefined ? whereOf(['notify', 'secret_file']) : NOTIFY_SECRET
  if (direct === undefined && file === undefined) {
    const problem = `notices are signed: set ${NOTIFY_SECRET}, ${NOTIFY_SECRET_FILE} or notify.secret_file`
    return { where: whereOf(['notify', 'webhook']), problem }
  }
  const secret =
    direct === undefined
      ? await readSecret(path.resolve(folder, file ?? ''), where, 'secret of notices')
      : new Secret(direct)
  if (!(secret instanceof Secret) || secret.reveal().length >= SECRET_CHARS_MIN) return secret
  const problem = `the secret of notices must have at least ${SECRET_CHARS_MIN} characters; "openssl rand -hex 32" makes one`
  return { where, problem }
}

export const resolveNotify = (
  { webhook, lag, failures }: Raw,
  secret: Secret | undefined,
): { notify?: NotifyConfig } =>
  webhook === undefined || secret === undefined
    ? {}
    : { notify: { webhook: new URL(webhook), secret, lagMs: parseDuration(lag) ?? 0, failures } }
