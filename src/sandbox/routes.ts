/** Which endpoint a path means (spec §1, §4). */
import { ENDPOINTS, type Endpoint } from './reports.ts'

export const TOKEN_PATH = '/authenticationapi/Account/RequestToken'
export const CONTROL_PREFIX = '/_control/'

const REPORTING_PREFIX = '/reportingapi'
const ENQUIRY_AUDIT = /^\/reportingapi\/v1\/EnquiryReport\/([^/]+)\/Audit$/

export interface Route {
  readonly endpoint: Endpoint
  /** The text in the path of the enquiry audit. */
  readonly enquiryId?: string
}

const byPath = new Map(ENDPOINTS.map((endpoint) => [REPORTING_PREFIX + endpoint.path, endpoint]))
const enquiryAudit = ENDPOINTS.find((endpoint) => endpoint.report === 'enquiry_audit_entries') as Endpoint

export function routeOf(path: string): Route | undefined {
  const endpoint = byPath.get(path)
  if (endpoint !== undefined) return endpoint === enquiryAudit ? undefined : { endpoint }
  const enquiryId = ENQUIRY_AUDIT.exec(path)?.[1]
  return enquiryId === undefined ? undefined : { endpoint: enquiryAudit, enquiryId }
}
