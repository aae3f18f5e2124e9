/** The schema of each report's section in `tidemark.yaml`. The report's declaration decides which keys it has. */
import { z } from 'zod'
import { reports, type Declaration, type ReportName } from '../../schema/index.ts'
import {
  deletesEveryProblem,
  durationProblem,
  everyProblem,
  instantProblem,
  reconcileEveryProblem,
  timeZoneProblem,
} from './checks.ts'
import { between, checked, exactInteger, filterTypes, unique, whole } from './fields.ts'

export const rhythm = {
  every: checked(everyProblem, 'How often a worker syncs: a duration such as 5m, or a cron line'),
  time_zone: checked(timeZoneProblem, 'The time zone that cron lines are read in, such as Europe/Paris'),
  page_size: between(1, 10_000).describe('Rows per page to request'),
  overlap: checked(durationProblem, 'How far a new window reaches back behind the mark'),
  settle: checked(durationProblem, 'How long the service may take to show a change'),
  start: checked(instantProblem, 'Where the first run of a windowed report begins'),
  requests_per_day: whole()
    .min(1)
    .describe('Requests in 24 hours: runs become rarer to keep it; no limit when left out'),
}

export const reconcileEvery = checked(
  reconcileEveryProblem,
  'How often a worker compares the whole report with the service: a duration such as 7d, a cron line, or never',
)

export const deletesEvery = checked(
  deletesEveryProblem,
  'How often runs compare the total of a report with the rows held: a duration (0s: each run), or never',
)

export const schemaContract = z
  .enum(['evolve', 'freeze', 'reject'])
  .describe(
    'What happens to new fields and types: columns change (evolve), values stay in _extra (freeze), rows with new fields are rejected (reject)',
  )

const columns = z
  .record(z.string(), z.enum(['hash', 'drop', 'keep']))
  .describe('column or collection.column, named as in the tables: hash (HMAC-SHA-256), drop, or keep')

const auditableReports = () => reports.filter(({ perRecord }) => perRecord === undefined).map(({ name }) => name)

const entity = () =>
  z.strictObject({
    entity_id: exactInteger
      .refine((id) => Number(id) >= 0, 'must be 0 or more')
      .meta({ type: 'integer', minimum: 0, description: "The service's number for this kind of record" }),
    follows: z.enum(auditableReports()).describe('The report whose changed rows are asked about'),
  })

const common = {
  enabled: z.boolean().default(true).describe('false switches the report off. A report that is not listed runs too'),
  ...z.object(rhythm).partial().shape,
  schema_contract: schemaContract.optional(),
  history: z.boolean().default(false).describe('Keep every version of each row in schema history'),
  columns: columns.optional(),
  exclude_payload: z.boolean().default(false).describe('Keep columns only: no _payload, no _extra'),
}

export function reportSection(report: Declaration) {
  const flags = Object.keys(report.expand)
  const filters = Object.entries(report.filters).map(([name, type]) => [name, filterTypes[type].optional()] as const)
  const hasEntities = report.perRecord?.follows === 'configured'
  return z
    .strictObject({
      ...common,
      ...(report.perRecord === undefined && { reconcile_every: reconcileEvery.optional() }),
      ...(flags.length > 0 && {
        expand: z.array(z.enum(flags)).optional().describe('Flags to ask with; all when left out'),
      }),
      ...(filters.length > 0 && {
        filters: z
          .strictObject(Object.fromEntries(filters))
          .optional()
          .describe('Documented parameters that narrow the report'),
      }),
      ...(report.created && {
        deletes_every: deletesEvery.optional(),
        ask_created: z.boolean().default(true).describe('Incremental runs also ask by creation time'),
      }),
      ...(hasEntities && {
        entities: unique(z.array(entity()), (item) => item.entity_id)
          .optional()
          .describe('Which records are audited'),
      }),
    })
    .optional()
    .describe(report.meaning)
}

export interface RawReport extends Partial<z.output<z.ZodObject<typeof common>>> {
  readonly enabled: boolean
  readonly reconcile_every?: string
  readonly deletes_every?: string
  readonly expand?: readonly string[]
  readonly filters?: Readonly<Record<string, unknown>>
  readonly ask_created?: boolean
  readonly entities?: readonly { readonly entity_id: number | string; readonly follows: ReportName }[]
}
