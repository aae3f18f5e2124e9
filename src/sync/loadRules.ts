/**
 * What a report's configuration says to its loads: which columns may change, and whether anything stays as it was sent.
 */
import type { ReportConfig } from '../config/config.ts'
import type { LoadRules } from '../warehouse/load/load.ts'

export const loadRules = ({ contract, privacy }: ReportConfig): LoadRules => ({
  contract,
  excludePayload: privacy.excludePayload,
})
