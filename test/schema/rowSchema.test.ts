/** The JSON schema of a table refuses a row that lacks a column or has one more. test/cli/rowTypes.test.ts has real rows. */
import { expect, it } from 'vitest'
import { jsonSchemaOf, type RowTable } from '../../schema/rowTypes.ts'

it('each column is required, and no other one may be in a row', () => {
  const column = { name: 'event_id', type: 'BIGINT', comment: 'Unique identifier', nullable: false }
  const table: RowTable = { schema: 'main', name: 'events', comment: '', columns: [column] }
  expect(jsonSchemaOf([table])).toMatchObject({
    $defs: {
      events: {
        properties: { event_id: { type: 'integer', description: 'Unique identifier' } },
        required: ['event_id'],
        additionalProperties: false,
      },
    },
  })
})
