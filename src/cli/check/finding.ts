/** The findings of checks, and the table that shows them. */
import type { SyncError } from '../../errors.ts'
import { line, table, withoutSubject } from '../layout.ts'

export type Verdict = 'ok' | 'warn' | 'fail' | 'skip'

export interface Finding {
  readonly check: string
  readonly verdict: Verdict
  readonly found: string
  readonly cure?: string
  readonly code?: string
}

export const ok = (check: string, found: string): Finding => ({ check, verdict: 'ok', found })

export const warn = (check: string, found: string, cure: string): Finding => ({ check, verdict: 'warn', found, cure })

export const skip = (check: string, found: string): Finding => ({ check, verdict: 'skip', found })

export const fail = (check: string, { code, message, cure }: SyncError): Finding => ({
  check,
  verdict: 'fail',
  found: withoutSubject(message, check),
  cure,
  code,
})

export const hasFailed = (findings: readonly Finding[]): boolean => findings.some(({ verdict }) => verdict === 'fail')

export function findingsText(findings: readonly Finding[], width: number): string {
  const rows = findings.map(({ check, verdict, found }) => [check, verdict, line(found)])
  const cures = findings.flatMap(({ check, cure }) => (cure === undefined ? [] : [`${check}: ${line(cure)}`]))
  const drawn = table(['check', 'result', 'found'], rows, width)
  return cures.length === 0
    ? `${drawn}\nAll is well.\n`
    : `${drawn}\nWhat to do:\n${cures.map((cure) => `  ${cure}\n`).join('')}`
}
