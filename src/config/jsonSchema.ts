/** The JSON Schema that editors check and complete `tidemark.yaml` with; kept as tidemark.schema.json by a test. */
import { z } from 'zod'
import { RawConfig } from './raw.ts'

/** Draft 7, since that is what YAML editors understand best. */
export const jsonSchema = (): Record<string, unknown> => z.toJSONSchema(RawConfig, { target: 'draft-7', io: 'input' })
