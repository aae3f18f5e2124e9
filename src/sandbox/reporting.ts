/** The six reports that have rows of their own: filter, page, write the rows, close the envelope (spec §4). */
import { type Answer, json } from './answer.ts'
import { damageFor } from './badRows.ts'
import type { Faults } from './faults.ts'
import type { Settings } from './options.ts'
import { PageWriter } from './pageWriter.ts'
import { pageOf, shuffled, type Page } from './paging.ts'
import type { Currency } from './rates.ts'
import { WORLD_REPORTS, type Endpoint, type WorldReport } from './reports.ts'
import { Selections, type Selection } from './selection.ts'
import { isSummary, summaryText } from './summaries.ts'
import type { Manner, Table } from './table.ts'
import type { ReportRequest } from './validate.ts'
import type { World } from './world.ts'

const COMMA = 0x2c
const SPARE_BYTES = 64 * 1_024

type RowWriter = (out: PageWriter, row: number) => void

export class Reporting {
  readonly #world: World
  readonly #settings: Settings
  readonly #faults: Faults
  readonly #selections: Readonly<Record<WorldReport, Selections>>
  readonly #pageBytes = new Map<string, number>()
  #requests = 0

  constructor({ world, settings, faults }: { world: World; settings: Settings; faults: Faults }) {
    this.#world = world
    this.#settings = settings
    this.#faults = faults
    this.#selections = Object.fromEntries(
      WORLD_REPORTS.map((report) => [report, new Selections(world.tables[report])]),
    ) as Record<WorldReport, Selections>
  }

  answer(endpoint: Endpoint & { report: WorldReport }, request: ReportRequest): Answer {
    const { report } = endpoint
    this.#requests += 1
    const selection = this.#selections[report].find(request)
    const page = pageOf(
      { values: request.values, total: selection.count, limits: this.#settings, report },
      this.#faults,
    )
    const refused = page.isBeyond ? this.#faults.takeNumber('beyond', report) : undefined
    if (refused !== undefined) return json(refused, { title: 'There is no such page', status: refused })
    const rows = this.#rowsOf(selection, page, report)
    const body = this.#write(endpoint, { rows, page, writeRow: this.#rowWriter(report, request) })
    if (page.isPartial) this.#drift(report)
    return { status: 200, body }
  }

  #rowsOf(selection: Selection, page: Page, report: WorldReport): readonly number[] {
    const rows =
      this.#faults.take('unordered', report) === undefined
        ? selection.slice(page.start, page.count)
        : shuffled(selection.count, page, this.#requests).flatMap((place) => selection.slice(place, 1))
    const [first] = rows
    if (first === undefined || this.#faults.take('duplicate-row', report) === undefined) return rows
    return [...rows, first]
  }

  #write(
    endpoint: Endpoint,
    { rows, page, writeRow }: { rows: readonly number[]; page: Page; writeRow: RowWriter },
  ): Buffer {
    const out = new PageWriter((this.#pageBytes.get(endpoint.report) ?? 0) + SPARE_BYTES)
    out.text(endpoint.envelope ? '{"items":[' : '[')
    for (let i = 0; i < rows.length; i += 1) {
      if (i > 0) out.byte(COMMA)
      writeRow(out, rows[i] as number)
    }
    out.text(endpoint.envelope ? envelopeEnd(page) : ']')
    this.#pageBytes.set(endpoint.report, out.length)
    return out.finish()
  }

  #rowWriter(report: WorldReport, request: ReportRequest): RowWriter {
    const table = this.#world.tables[report]
    const manner: Manner = { flags: request.flags, currency: currencyOf(request) }
    const whole: RowWriter = (out, row) => table.write(out, row, manner)
    const shaped = report === 'events' ? this.#shaped(whole, request) : whole
    const every = this.#faults.takeNumber('bad-rows', report)
    return every === undefined ? shaped : damaged(shaped, { table, manner, every })
  }

  #shaped(whole: RowWriter, request: ReportRequest): RowWriter {
    const { eventShape } = this.#settings
    if (eventShape === 'full') return whole
    return (out, row) => {
      if (isSummary(eventShape, row)) out.text(summaryText(this.#world, row, request.values))
      else whole(out, row)
    }
  }

  /** Between two pages of a walk the report changes, so that rows move to other pages. */
  #drift(report: WorldReport): void {
    const changes = this.#faults.takeNumber('drift', report) ?? 0
    for (let i = 0; i < changes; i += 1) this.#world.tick(report)
  }
}

function damaged(
  write: RowWriter,
  { table, manner, every }: { table: Table; manner: Manner; every: number },
): RowWriter {
  return (out, row) => {
    if (row % every === 0) table.writeDamaged(out, row, { manner, fields: damageFor(table.model, row / every) })
    else write(out, row)
  }
}

const currencyOf = (request: ReportRequest): Currency =>
  (request.values.get('targetCurrencyCode') ?? request.values.get('currencyCode') ?? 'EUR') as Currency

export const envelopeEnd = ({ pageNumber, pageSize, totalCount }: Page): string =>
  `],"pageNumber":${pageNumber},"pageSize":${pageSize},"totalCount":${totalCount}}`
