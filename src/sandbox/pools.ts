/** Generates names, towns and notes in several languages, once per seed. */
import { faker as german } from '@faker-js/faker/locale/de'
import { faker as greek } from '@faker-js/faker/locale/el'
import { faker as english } from '@faker-js/faker/locale/en'
import { faker as french } from '@faker-js/faker/locale/fr'
import { faker as japanese } from '@faker-js/faker/locale/ja'
import { faker as polish } from '@faker-js/faker/locale/pl'

export type Pools = Readonly<ReturnType<typeof makePools>>

const LANGUAGES = [english, german, french, polish, greek, japanese]
const BOOKERS = 600
const OTHERS = 240

const OCCASIONS =
  'Annual Conference,Jahrestagung,Sales Kick-off,Séminaire de direction,Board Meeting,Produktschulung,Gala Dinner,Workshop,Szkolenie zespołu,Team Offsite,Hackathon,Συνέδριο,Press Briefing,展示会,Investor Day,Firmenjubiläum'.split(
    ',',
  )

const REMARKS = [
  'Vegetarian menu for 12 🥗, window seats please',
  'Rückfrage wegen Beamer – "dringend"',
  'Arrivée tardive possible; prévoir un dîner léger\nMerci !',
  'Second projector\tand a flip chart',
  'C:\\Angebote\\2025 ist gültig',
  '会場の下見を希望します 🙇',
  'Πληρωμή με τιμολόγιο',
  'Ramp for 2 wheelchairs ♿ needed',
  'Zażółć gęślą jaźń',
  'שלום, coffee for everyone ☕️',
  '👩‍👩‍👧‍👦 family day – 40 kids',
  '</script><b>bold request</b> & more',
  "Robert'); DROP TABLE bookings;--",
  ' leading and trailing blanks ',
]

const poolsBySeed = new Map<number, Pools>()

export function poolsFor(seed: number): Pools {
  const pools = poolsBySeed.get(seed) ?? makePools(seed)
  poolsBySeed.set(seed, pools)
  return pools
}

function makePools(seed: number) {
  LANGUAGES.forEach((language, index) => language.seed(seed * 31 + index))
  const language = (index: number): typeof english => LANGUAGES[index % LANGUAGES.length] as typeof english
  const many = <T>(count: number, make: (faker: typeof english, index: number) => T): readonly T[] =>
    Array.from({ length: count }, (_, index) => make(language(index), index))
  return {
    bookers: many(BOOKERS, makeBooker),
    towns: many(OTHERS, (faker) => faker.location.city()),
    streets: many(OTHERS, (faker) => faker.location.streetAddress()),
    people: many(OTHERS, (faker) => faker.person.fullName()),
    venues: many(OTHERS, (faker) => `${faker.location.city()} ${english.helpers.arrayElement(VENUE_KINDS)}`),
    occasions: OCCASIONS,
    notes: [...REMARKS, ...many(OTHERS, () => english.lorem.sentence())],
  }
}

const VENUE_KINDS = ['Grand Hotel', 'Kongresszentrum', 'Château', 'Town Hall', 'Hôtel de la Gare', 'Campus', 'Dock 7']

function makeBooker(faker: typeof english, index: number) {
  const company = faker.company.name()
  const given = english.person
    .firstName()
    .toLowerCase()
    .replaceAll(/[^a-z]/g, '')
  const domain = english.internet.domainName()
  return { name: faker.person.fullName(), email: `${given}.${index}@${domain}`, company, phone: faker.phone.number() }
}
