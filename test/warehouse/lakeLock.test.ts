/** The lock of a lake, without a catalogue (test/lake/turns.test.ts has one). */
import { expect, it } from 'vitest'
import { takeLakeLock } from '../../src/warehouse/database/lakeLock.ts'

it('fails with LAKE_BUSY if other workers keep the lock, and ends its own transaction', async () => {
  const statements: string[] = []
  const refuse = (statement: string) => {
    statements.push(statement)
    return Promise.resolve([{ taken: false }])
  }
  await expect(takeLakeLock(refuse, 'lake')).rejects.toMatchObject({ code: 'LAKE_BUSY' })
  expect([statements[0], statements.at(-1)]).toEqual(['BEGIN', 'ROLLBACK'])
})
