/**
 * What the expandable collections hold. The specification shows none of their inner fields (§2, gaps), so these are
 * plausible ones: scalars, one level of nesting, some items without an `id`, some that say `isDeleted` themselves.
 */
import { amountText } from './decimal.ts'
import { draw, pick } from './draw.ts'
import type { Pools } from './pools.ts'
import { CURRENCIES } from './rates.ts'
import type { WorldReport } from './reports.ts'

/** Draws for one variant of an item. */
export interface Draft {
  readonly pools: Pools
  whole(purpose: number, below: number): number
  from<T>(purpose: number, values: readonly T[]): T
  /** A number as exact text; see `exact`. */
  amount(purpose: number): string
}

type Content = Readonly<Record<string, unknown>>

export interface CollectionKind {
  readonly field: string
  readonly flag: string
  /** `one`: an object or null. */
  readonly kind: 'many' | 'one'
  /** Items carry an `id` of their own. */
  readonly identified: boolean
  readonly content: (draft: Draft) => Content
}

/** Numbers that must be written digit by digit travel through JSON.stringify between these marks. */
const EXACT = /"@(-?[\d.]+)@"/g

export function draftFor(seed: number, variant: number, pools: Pools): Draft {
  return {
    pools,
    whole: (purpose, below) => draw(seed, variant, purpose) % below,
    from: (purpose, values) => pick(values, draw(seed, variant, purpose)),
    amount: (purpose) => `@${amountText(seed, variant, 100 + purpose * 5)}@`,
  }
}

export const exactJson = (content: Content): string => JSON.stringify(content).replaceAll(EXACT, '$1')

const many = (field: string, content: CollectionKind['content']): CollectionKind => ({
  field,
  flag: field,
  kind: 'many',
  identified: true,
  content,
})
const plain = (field: string, content: CollectionKind['content']): CollectionKind => ({
  ...many(field, content),
  identified: false,
})
const one = (field: string, content: CollectionKind['content']): CollectionKind => ({
  ...many(field, content),
  kind: 'one',
})

const person = (draft: Draft, purpose: number): Content => ({
  name: draft.from(purpose, draft.pools.people),
  userId: 1 + draft.whole(purpose + 1, 900),
})
const place = (draft: Draft): Content => ({
  street: draft.from(1, draft.pools.streets),
  town: draft.from(2, draft.pools.towns),
  country: draft.from(3, ['DE', 'FR', 'GB', 'JP', 'GR', 'PL']),
})
const money = (draft: Draft): Content => ({ amount: draft.amount(4), currency: draft.from(5, CURRENCIES) })
const rate = (draft: Draft): Content => ({
  label: draft.from(1, ['standard', 'reduced', 'zéro']),
  percent: draft.from(2, [0, 5.5, 7, 19, 20]),
})
const day = (draft: Draft): Content => ({
  dayNumber: 1 + draft.whole(1, 5),
  from: '09:00',
  to: draft.from(2, ['12:30', '17:00', '23:59']),
  layout: { style: draft.from(3, ['theatre', 'U-shape', 'Bankett']), seats: draft.whole(4, 200) },
})
const conversion = (draft: Draft): Content => ({ code: draft.from(1, CURRENCIES), rate: draft.amount(2) })
const answer = (draft: Draft): Content => ({
  question: draft.from(1, ['Allergies?', 'T-shirt size', 'Anreise am Vortag?']),
  answer: draft.from(2, draft.pools.notes),
  required: draft.whole(3, 2) === 1,
})
const approver = one('approver', (draft) => ({
  ...person(draft, 1),
  approved: draft.whole(3, 2) === 1,
  limit: money(draft),
}))

export const COLLECTIONS: Readonly<Record<WorldReport, readonly CollectionKind[]>> = {
  events: [
    many('meetingRooms', (draft) => ({
      name: draft.from(1, draft.pools.venues),
      capacity: 4 + draft.whole(2, 400),
      price: draft.amount(3),
      setup: { style: draft.from(4, ['theatre', 'classroom', 'Bankett']), chairs: draft.whole(5, 300) },
      isDeleted: false,
    })),
    many('accommodations', (draft) => ({
      hotel: draft.from(1, draft.pools.venues),
      nights: 1 + draft.whole(2, 6),
      rooms: draft.whole(3, 80),
      ratePerNight: draft.amount(4),
      guests: [{ name: draft.from(5, draft.pools.people) }, { name: draft.from(6, draft.pools.people) }],
      isDeleted: false,
    })),
    {
      ...one('commission', (draft) => ({
        percent: draft.from(1, [5, 7.5, 10, 12.25]),
        payee: draft.from(2, draft.pools.people),
        total: money(draft),
      })),
      flag: 'commissions',
    },
    many('entityLinks', (draft) => ({
      entityId: draft.from(1, [1, 5, 11]),
      entityRecordId: 20_001 + draft.whole(2, 500),
      relation: draft.from(3, ['source', 'copy', 'follow-up']),
    })),
    many('permissions', (draft) => ({ ...person(draft, 1), level: draft.from(3, ['view', 'edit', 'own']) })),
    one('operationsRecord', (draft) => ({
      manager: draft.from(1, draft.pools.people),
      checkedIn: draft.whole(2, 2) === 1,
      briefing: draft.from(3, draft.pools.notes),
      contacts: [person(draft, 4)],
    })),
    many('assignments', (draft) => ({
      ...person(draft, 1),
      role: draft.from(3, ['planner', 'host', 'Technik', 'Accueil']),
      hours: draft.whole(4, 40) + 0.25,
    })),
    one('cancellationRecord', (draft) => ({
      reason: draft.from(1, ['budget', 'illness', 'höhere Gewalt', 'date moved']),
      fee: money(draft),
      confirmedBy: draft.from(6, draft.pools.people),
    })),
    plain('extendedProperties', (draft) => ({
      key: draft.from(1, ['costCentre', 'poNumber', 'couleur', '部署']),
      value: draft.from(2, draft.pools.notes),
    })),
  ],
  budgets: [
    many('costItems', (draft) => ({
      label: draft.from(1, ['Venue', 'Catering', 'Hotel', 'Technik']),
      quantity: 1 + draft.whole(2, 50),
      price: draft.amount(3),
      tax: rate(draft),
    })),
    plain('taxes', (draft) => ({ ...rate(draft), amount: draft.amount(4) })),
    plain('currencies', conversion),
  ],
  enquiries: [
    many('enquiryVenues', (draft) => ({
      venue: draft.from(1, draft.pools.venues),
      rank: 1 + draft.whole(2, 5),
      address: place(draft),
    })),
    many('enquiryDay', day),
    many('bedrooms', (draft) => ({
      type: draft.from(1, ['single', 'double', 'Suite']),
      count: draft.whole(2, 60),
      rate: draft.amount(3),
    })),
    plain('customQuestions', answer),
    plain('customFields', (draft) => ({
      name: draft.from(1, ['costCentre', 'Projekt', 'référence']),
      value: draft.from(2, draft.pools.notes),
    })),
    approver,
    one('addressExtra', place),
    plain('taxes', rate),
  ],
  automated_bookings: [
    many('reservationDays', day),
    many('reservationDayFoodDrinks', (draft) => ({
      item: draft.from(1, ['Coffee ☕', 'Brezeln', 'Déjeuner', '弁当']),
      portions: draft.whole(2, 200),
      price: draft.amount(3),
    })),
    many('reservationDayEquipments', (draft) => ({
      item: draft.from(1, ['Projector', 'Flipchart', 'Mikrofon']),
      quantity: 1 + draft.whole(2, 9),
      options: { cable: draft.from(3, ['HDMI', 'USB-C']) },
    })),
    plain('vatrates', rate),
    many('costCenters', (draft) => ({ code: `CC-${draft.whole(1, 9_000)}`, share: draft.whole(2, 101) })),
    plain('currencies', conversion),
    approver,
    many('transactions', (draft) => ({
      kind: draft.from(1, ['charge', 'refund', 'hold']),
      ...money(draft),
      card: { brand: draft.from(6, ['Visa', 'Mastercard']), last4: String(1_000 + draft.whole(7, 9_000)) },
    })),
  ],
  office_reservations: [
    many('reservationDays', day),
    one('userDetails', (draft) => ({
      ...person(draft, 1),
      department: draft.from(3, ['Sales', 'Entwicklung', 'Comptabilité']),
      address: place(draft),
    })),
    plain('customData', (draft) => ({
      key: draft.from(1, ['parking', 'badge', 'Etage']),
      value: draft.from(2, draft.pools.notes),
    })),
    many('attendees', (draft) => ({
      ...person(draft, 1),
      email: draft.from(3, draft.pools.bookers).email,
      external: draft.whole(4, 2) === 1,
    })),
    one('benchmarkData', (draft) => ({ averagePrice: draft.amount(1), sampleSize: draft.whole(2, 500) })),
    many('extraItems', (draft) => ({
      item: draft.from(1, ['Locker', 'Monitor', 'Parkplatz']),
      quantity: 1 + draft.whole(2, 4),
      price: draft.amount(3),
    })),
  ],
  merf_submissions: [
    one('person', (draft) => ({
      ...person(draft, 1),
      email: draft.from(3, draft.pools.bookers).email,
      address: place(draft),
    })),
    many('fieldResponses', answer),
    many('attachments', (draft) => ({
      fileName: draft.from(1, ['agenda.pdf', 'Übersicht.xlsx', '参加者.csv']),
      bytes: 1_000 + draft.whole(2, 9_000_000),
      uploadedBy: person(draft, 3),
    })),
  ],
}
