/** Rows of the MERF report: a submitted event form, linked to an event (spec §1, §2). */
import { centsText } from '../decimal.ts'
import { pick } from '../draw.ts'
import { affiliateOf, companyOf } from './events.ts'
import { Draws, FIRST_KEYS, quote, timeWriter, type Makings, type RowModel } from './model.ts'

const FORMS = 15
const STATES = ['submitted', 'under review', 'approved', 'zurückgestellt', 'refusé']

export function merfRows(makings: Makings): RowModel {
  const draws = new Draws(makings.seed, 'merf_submissions')
  const submittedAt = timeWriter(makings, 'submittedAt')
  const formOf = (row: number): number => 1 + (draws.of(row, 20) % FORMS)
  const eventOf = (row: number): number => FIRST_KEYS.events + (draws.of(row, 21) % Math.max(1, makings.sizes.events))
  return {
    report: 'merf_submissions',
    keyField: 'submissionId',
    firstKey: FIRST_KEYS.merf_submissions,
    fields: 'submissionId formId eventId submittedAt state companyId affiliateId score language comment'.split(' '),
    raw: (row, stamps) => [
      String(FIRST_KEYS.merf_submissions + row),
      String(formOf(row)),
      String(eventOf(row)),
      submittedAt(row, stamps.created),
      quote(draws.pick(STATES, row, 22)),
      String(companyOf(draws, row)),
      String(affiliateOf(draws, row) ?? 'null'),
      centsText(draws.of(row, 23) % 1_000),
      quote(draws.pick(['en', 'de', 'fr', 'pl', 'ja'], row, 24)),
      draws.chance(40, row, 25) ? quote(draws.pick(makings.pools.notes, row, 26)) : 'null',
    ],
    attributes: {
      submissionId: (row) => FIRST_KEYS.merf_submissions + row,
      formId: formOf,
      eventId: eventOf,
      companyId: (row) => companyOf(draws, row),
      affiliateId: (row) => affiliateOf(draws, row),
    },
    editable: {
      state: (drawn) => quote(pick(STATES, drawn)),
      score: (drawn) => centsText(1_000 + (drawn % 9_000)),
      comment: (drawn) => quote(pick(makings.pools.notes, drawn)),
    },
  }
}
