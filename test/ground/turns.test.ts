/** Work that runs one after the other. */
import { expect, it } from 'vitest'
import { turns } from '../../src/turns.ts'

it('begins each work only after the work of the earlier calls has ended, also after a failure', async () => {
  const inTurn = turns()
  const steps: string[] = []
  const work = (name: string, error?: Error) =>
    inTurn(async () => {
      steps.push(`${name} begins`)
      await Promise.resolve()
      steps.push(`${name} ends`)
      if (error !== undefined) throw error
      return name
    })
  const ended = await Promise.allSettled([work('a'), work('b', new Error('broken')), work('c')])
  expect(steps).toEqual(['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends'])
  expect(ended.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  expect(ended[2]).toMatchObject({ value: 'c' })
})
