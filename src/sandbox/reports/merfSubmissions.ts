/** MERF submissions: forms that were submitted for an event (spec §1, §2). */
import { affiliateOf, answer, companyOf, eventOf, person, place } from './contents.ts'
import { created, type Definition, many, modified, one, paging } from './definition.ts'

const FIRST_SUBMISSION = 900_001
const FORMS = 15
const STATES = ['submitted', 'under review', 'approved', 'zurückgestellt', 'refusé']

export const merfSubmissions: Definition = {
  path: '/v1/MerfReport/GetMerfReport',
  scope: 'merf.read',
  envelope: true,
  parameters: {
    ...paging,
    ...modified,
    ...created,
    companyId: 'integer',
    affiliateId: 'integer',
    formId: 'integer',
    eventId: 'integer',
  },
  key: 'submissionId',
  firstKey: FIRST_SUBMISSION,
  rowsPerEvent: 1,
  entity: { id: 11, type: 'MerfSubmissions' },
  fields: (row) => {
    const { dice, key, created: submitted } = row
    return {
      submissionId: key,
      formId: 1 + dice.below(FORMS, 'form'),
      eventId: eventOf(dice, key - FIRST_SUBMISSION),
      submittedAt: dice.time('submittedAt', submitted),
      state: dice.pick(STATES, 'state'),
      companyId: companyOf(dice),
      affiliateId: affiliateOf(dice),
      score: dice.cents(10, 'score'),
      language: dice.pick(['en', 'de', 'fr', 'pl', 'ja'], 'language'),
      comment: dice.chance(40, 'has comment') ? dice.pick(dice.pools.notes, 'comment') : null,
    }
  },
  edits: {
    state: (dice) => dice.pick(STATES, 'state'),
    score: (dice) => dice.cents(10, 'score'),
    comment: (dice) => dice.pick(dice.pools.notes, 'comment'),
  },
  collections: [
    one('person', (dice) => ({
      ...person(dice),
      email: dice.pick(dice.pools.bookers, 'email').email,
      address: place(dice),
    })),
    many('fieldResponses', answer),
    many('attachments', (dice) => ({
      fileName: dice.pick(['agenda.pdf', 'Übersicht.xlsx', '参加者.csv'], 'file'),
      bytes: 1_000 + dice.below(9_000_000, 'bytes'),
      uploadedBy: person(dice),
    })),
  ],
}
