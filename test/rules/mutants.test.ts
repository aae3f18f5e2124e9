/**
 * The mutants of the simulation: a mutant whose text has left the code would measure the engine as it is, and say
 * nothing.
 */
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { MUTANTS } from '../../tools/simulate/mutantList.ts'

it('every mutant finds the text that it replaces exactly once', () => {
  const strayed = MUTANTS.filter(({ file, from }) => readFileSync(file, 'utf8').split(from).length !== 2)
  expect(strayed.map(({ name }) => name)).toEqual([])
})
