/** Events (spec §2), with some undocumented fields that real services send too. */
import type { Dice, Range } from '../dice.ts'
import { TICKS_PER_DAY, TICKS_PER_MINUTE, type Ticks, yearOf } from '../ticks.ts'
import { affiliateOf, companyOf, currencyOf, FIRST_EVENT, money, NIGHT, person, price } from './contents.ts'
import { type Definition, many, modified, one, owner, paging, plain, type RowSource } from './definition.ts'

const OVER = ['Completed', 'Completed', 'Completed', 'Completed', 'Cancelled']
const AHEAD = ['Draft', 'Option', 'Confirmed', 'Confirmed', 'Cancelled']
const FORMS = ['Standard', 'MERF', 'Short form', 'Hybrid']
const PAYMENTS = ['Invoice', 'Credit card', 'Virtual card', 'Überweisung', 'Cost centre']
const BUDGETS: Range = [2_000, 90_000]
const QUARTER_HOUR = 15 * TICKS_PER_MINUTE

const startOf = ({ dice, created }: RowSource): number =>
  Math.floor(created / TICKS_PER_DAY + 7 + dice.below(300, 'start day')) * TICKS_PER_DAY +
  (32 + dice.below(20, 'start time')) * QUARTER_HOUR

const nameOf = (dice: Dice, row: RowSource): string =>
  `${dice.pick(dice.pools.occasions, 'occasion')} ${dice.pick(dice.pools.towns, 'town')} ${yearOf(startOf(row))}`

const attendeesOf = (dice: Dice): number => 2 + dice.below(400, 'attendees')

const onSiteOf = (dice: Dice): number => attendeesOf(dice) - dice.below(Math.ceil(attendeesOf(dice) / 2), 'online')

const statusAt = (now: Ticks, dice: Dice, row: RowSource): string =>
  dice.pick(startOf(row) < now ? OVER : AHEAD, 'status')

export const events: Definition = {
  path: '/v1/EventReport/GetEventsReport',
  scope: 'event.read',
  envelope: false,
  parameters: { ...paging, ...modified, ...owner, eventId: 'integer', includeDeleted: 'boolean' },
  required: ['modifiedSince'],
  key: 'eventId',
  firstKey: FIRST_EVENT,
  rowsPerEvent: 1,
  entity: { id: 3, type: 'Events' },
  keepsDeleted: true,
  comparesWith: { affiliateGroupId: 'affiliateId' },
  fields: (row) => {
    const { dice, key } = row
    const attendees = attendeesOf(dice)
    const start = startOf(row)
    const end = start + (2 + dice.below(30, 'length')) * QUARTER_HOUR + dice.below(3, 'nights') * TICKS_PER_DAY
    return {
      eventId: key,
      name: nameOf(dice, row),
      startDate: dice.time('startDate', start),
      endDate: dice.time('endDate', end),
      status: statusAt(dice.settings.historyEnd, dice, row),
      formType: dice.pick(FORMS, 'form'),
      location: dice.pick(dice.pools.venues, 'venue'),
      attendees,
      inPersonAttendees: onSiteOf(dice),
      externalId: dice.chance(60, 'has external id') ? `EXT-${dice.below(10 ** 9, 'external id')}` : null,
      town: dice.pick(dice.pools.towns, 'town'),
      paymentMethod: dice.pick(PAYMENTS, 'payment'),
      companyId: companyOf(dice),
      affiliateId: affiliateOf(dice),
      externalUrl: `https://events.example/e/${key.toString(36)}`,
      recordCreated: dice.time('recordCreated', row.created),
      recordModified: dice.time('recordModified', row.modified),
      aggregateRecordModified: dice.time('aggregateRecordModified', row.aggregate),
      isDeleted: row.deleted,
      bookerName: dice.pick(dice.pools.bookers, 'booker').name,
      budgetAmount: dice.amount('budget', BUDGETS, currencyOf(row)),
      budgetCurrency: currencyOf(row),
      isVip: dice.chance(5, 'vip'),
      notes: dice.chance(60, 'has notes') ? dice.pick(dice.pools.notes, 'notes') : null,
      arrivalTime: `${String(6 + dice.below(2, 'arrival')).padStart(2, '0')}:30:00`,
      costEstimate: dice.chance(80, 'has estimate') ? dice.amount('estimate', BUDGETS, currencyOf(row)) : undefined,
      tags: dice.chance(10, 'has tags') ? ['hybrid', 'catering'] : undefined,
      venueContact: dice.chance(10, 'has contact')
        ? { name: dice.pick(dice.pools.people, 'contact'), floor: dice.below(9, 'floor') }
        : undefined,
    }
  },
  edits: {
    name: nameOf,
    status: (dice, row, editedAt) => statusAt(editedAt, dice, row),
    attendees: (dice) => 402 + dice.below(400, 'attendees'),
    location: (dice) => dice.pick(dice.pools.venues, 'venue'),
    paymentMethod: (dice) => dice.pick(PAYMENTS, 'payment'),
    budgetAmount: (dice, row) => dice.amount('budget', BUDGETS, currencyOf(row)),
    notes: (dice) => dice.pick(dice.pools.notes, 'notes'),
  },
  collections: [
    many('meetingRooms', (dice, row) => {
      const capacity = onSiteOf(row.dice) + dice.below(100, 'capacity')
      return {
        name: dice.pick(dice.pools.venues, 'venue'),
        capacity,
        ...price(dice, row),
        setup: {
          style: dice.pick(['theatre', 'classroom', 'Bankett'], 'style'),
          chairs: 1 + dice.below(capacity, 'chairs'),
        },
        isDeleted: false,
      }
    }),
    many('accommodations', (dice, row) => ({
      hotel: dice.pick(dice.pools.venues, 'hotel'),
      nights: 1 + dice.below(6, 'nights'),
      rooms: 1 + dice.below(80, 'rooms'),
      ratePerNight: dice.amount('rate', NIGHT, currencyOf(row)),
      currency: currencyOf(row),
      guests: [{ name: dice.pick(dice.pools.people, 'guest') }, { name: dice.pick(dice.pools.people, 'companion') }],
      isDeleted: false,
    })),
    {
      ...one('commission', (dice, row) => ({
        percent: dice.pick([5, 7.5, 10, 12.25], 'percent'),
        payee: dice.pick(dice.pools.people, 'payee'),
        total: money(dice, row),
      })),
      flag: 'commissions',
    },
    many('entityLinks', (dice) => ({
      entityId: dice.pick([1, 5, 11], 'entity'),
      entityRecordId: 20_001 + dice.below(500, 'record'),
      relation: dice.pick(['source', 'copy', 'follow-up'], 'relation'),
    })),
    many('permissions', (dice) => ({ ...person(dice), level: dice.pick(['view', 'edit', 'own'], 'level') })),
    one('operationsRecord', (dice) => ({
      manager: dice.pick(dice.pools.people, 'manager'),
      checkedIn: dice.chance(50, 'checked in'),
      briefing: dice.pick(dice.pools.notes, 'briefing'),
      contacts: [person(dice)],
    })),
    many('assignments', (dice) => ({
      ...person(dice),
      role: dice.pick(['planner', 'host', 'Technik', 'Accueil'], 'role'),
      hours: dice.below(40, 'hours') + 0.25,
    })),
    {
      ...one('cancellationRecord', (dice, row) => ({
        reason: dice.pick(['budget', 'illness', 'höhere Gewalt', 'date moved'], 'reason'),
        fee: money(dice, row),
        confirmedBy: dice.pick(dice.pools.people, 'confirmed by'),
      })),
      onlyIn: 'Cancelled',
    },
    plain('extendedProperties', (dice) => ({
      key: dice.pick(['costCentre', 'poNumber', 'couleur', '部署'], 'key'),
      value: dice.pick(dice.pools.notes, 'value'),
    })),
  ],
}
