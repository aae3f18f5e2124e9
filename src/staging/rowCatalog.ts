/** Creates the catalogue of a report's rows from the fields of its collections and the names that staging reserves. */
import type { Declaration } from '../../schema/report.ts'
import { collectionFields } from '../../schema/tables.ts'
import { ORDINAL_FIELD, SHAPE_FIELD } from '../plan/stagedNames.ts'
import { type CatalogText, ObjectCatalog } from './catalog.ts'

const RESERVED = [ORDINAL_FIELD, SHAPE_FIELD]

export const catalogOf = (report: Declaration): ObjectCatalog => new ObjectCatalog(collectionFields(report), RESERVED)

/** Restores a catalogue that another process has sent. */
export const catalogFrom = (report: Declaration, text: CatalogText): ObjectCatalog =>
  ObjectCatalog.from(text, collectionFields(report), RESERVED)
