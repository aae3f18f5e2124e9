/** The catalogue of a report's rows: its collections are known from the declaration, two names belong to staging. */
import type { Declaration } from '../../schema/report.ts'
import { collectionFields } from '../../schema/tables.ts'
import { ORDINAL_FIELD, SHAPE_FIELD } from '../plan/stagedNames.ts'
import { type CatalogText, ObjectCatalog } from './catalog.ts'

const RESERVED = [ORDINAL_FIELD, SHAPE_FIELD]

export const catalogOf = (report: Declaration): ObjectCatalog => new ObjectCatalog(collectionFields(report), RESERVED)

/** The one that another process described. */
export const catalogFrom = (report: Declaration, told: CatalogText): ObjectCatalog =>
  ObjectCatalog.from(told, collectionFields(report), RESERVED)
