/**
 * The mutants of the simulation: a mutant whose text has left the code would measure the code as it is, and show
 * nothing. The page about the simulation must name each mutant and each fault.
 */
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { MUTANTS } from '../../tools/simulate/mutantList.ts'
import { faultNames } from '../simulation/faults.ts'

const all = Object.values(MUTANTS).flat()
const page = readFileSync('docs/SIMULATION.md', 'utf8')

it('every mutant finds the text that it replaces exactly once', () => {
  const strayed = all.filter(({ file, from }) => readFileSync(file, 'utf8').split(from).length !== 2)
  expect(strayed.map(({ name }) => name)).toEqual([])
})

it('docs/SIMULATION.md lists the mutants by area, in the order of the list', () => {
  const table = /<!-- mutants -->\n.*\n.*\n([^]*)<!-- \/mutants -->/.exec(page)?.[1] ?? ''
  const firstCells = table
    .trimEnd()
    .split('\n')
    .map((row) => row.split('|')[1]?.trim())
  const listed = Object.entries(MUTANTS).flatMap(([area, mutants]) => [
    `**${area}**`,
    ...mutants.map(({ name }) => name),
  ])
  expect(firstCells).toEqual(listed)
})

it('docs/SIMULATION.md names each fault', () => {
  expect(faultNames.filter((fault) => !page.includes(`\`${fault}\``))).toEqual([])
})
