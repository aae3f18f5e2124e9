/**
 * The two audit reports: one record's entries in a period, in chronological order (spec §4). The enquiry audit is the
 * same trail, filtered to enquiries, without `entityType` (spec §2).
 */
import type { Answer } from './answer.ts'
import { aggregatesText, type TrailEntry } from './auditTrail.ts'
import type { Faults } from './faults.ts'
import type { Settings } from './options.ts'
import { pageOf } from './paging.ts'
import { envelopeEnd } from './reporting.ts'
import { ENTITY_IDS, ENTITY_TYPES, WORLD_REPORTS, type Endpoint } from './reports.ts'
import { formatTicks } from './ticks.ts'
import type { ReportRequest } from './validate.ts'
import type { World } from './world.ts'

export interface AuditAsked {
  readonly endpoint: Endpoint
  readonly request: ReportRequest
  /** From the path of the enquiry audit. */
  readonly enquiryId: number | undefined
}

interface Rooms {
  readonly world: World
  readonly settings: Settings
  readonly faults: Faults
}

export function auditAnswer({ world, settings, faults }: Rooms, { endpoint, request, enquiryId }: AuditAsked): Answer {
  const { values, flags } = request
  const entityId = enquiryId === undefined ? Number(values.get('entityId')) : ENTITY_IDS.enquiries
  const recordId = enquiryId ?? Number(values.get('entityRecordId'))
  const since = Number(values.get('since'))
  const until = Number(values.get('until') ?? Number.POSITIVE_INFINITY)
  const trail = world.auditEntries(entityId, recordId)
  const entries = trail.filter((entry) => entry.at >= since && entry.at <= until)
  const page = pageOf({ values, total: entries.length, limits: settings, report: endpoint.report }, faults)
  const entityType = enquiryId === undefined ? typeOf(entityId) : undefined
  const items = entries.slice(page.start, page.start + page.count).map((entry) => {
    const aggregates = flags.has('aggregates') ? aggregatesText(trail, entry) : undefined
    return entryText(entry, { entityType, payload: flags.has('payload'), aggregates })
  })
  return { status: 200, body: `{"items":[${items.join(',')}${envelopeEnd(page)}` }
}

function typeOf(entityId: number): string {
  const report = WORLD_REPORTS.find((name) => ENTITY_IDS[name] === entityId)
  return report === undefined ? 'Unknown' : ENTITY_TYPES[report]
}

function entryText(
  entry: TrailEntry,
  {
    entityType,
    payload,
    aggregates,
  }: { entityType: string | undefined; payload: boolean; aggregates: string | undefined },
): string {
  const parts = [`"timestamp":"${formatTicks(entry.at)}"`, `"userId":${entry.userId}`]
  if (entityType !== undefined) parts.push(`"entityType":"${entityType}"`)
  parts.push(`"action":"${entry.action}"`)
  if (payload) parts.push(`"payload":${entry.payload}`)
  if (aggregates !== undefined) parts.push(`"aggregates":${aggregates}`)
  return `{${parts.join(',')}}`
}
