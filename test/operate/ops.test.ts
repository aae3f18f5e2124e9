/**
 * What operators load elsewhere: the dashboard and the alert rules name only metrics that exist, and all are explained.
 */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { createMeters, Metrics } from '../../jobs/metrics/metrics.ts'
import { systemClock } from '../../src/clock.ts'
import { loadConfig } from '../../src/config/config.ts'
import { errorCodes } from '../../src/errors.ts'
import { QUEUES } from '../../jobs/queue/queues.ts'
import { REQUIRED_ENV } from '../config/folder.ts'
import { markdownOf } from '../rules/markdown.ts'
import { ROOT } from '../rules/source.ts'

const read = (name: string) => readFileSync(path.join(ROOT, name), 'utf8')

interface Exported {
  readonly name: string
  readonly labels: ReadonlySet<string>
  readonly type: string
}

async function exported(): Promise<ReadonlyMap<string, Exported>> {
  const registry = new Registry()
  createMeters(registry)
  const labels = new Map(
    registry.getMetricsAsArray().map((each) => {
      const { name, labelNames } = each as unknown as { name: string; labelNames: string[] }
      return [name, labelNames]
    }),
  )
  const metrics = (await registry.getMetricsAsJSON()) as unknown as readonly { name: string; type: string }[]
  return new Map(metrics.map(({ name, type }) => [name, { name, type, labels: new Set(labels.get(name)) }]))
}

/** Metrics in an expression, each with the labels that it is narrowed by. */
function metricsIn(
  expression: string,
): readonly { name: string; labels: readonly string[]; values: readonly string[] }[] {
  return [...expression.matchAll(/\b((?:tidemark|process)_[a-z_]+)(?:\{([^}]*)\})?/g)].map(
    ([, name = '', narrowed = '']) => {
      const pairs = [...narrowed.matchAll(/(\w+)(?:!?=~?)"([^"]*)"/g)]
      return { name, labels: pairs.map(([, label = '']) => label), values: pairs.map(([, , value = '']) => value) }
    },
  )
}

/** The series of histograms have endings of their own. */
const metricOf = (name: string) => name.replace(/_seconds_(?:bucket|sum|count)$/, '_seconds')

interface Rule {
  readonly alert: string
  readonly expr: string
  readonly annotations: { readonly summary: string; readonly runbook: string }
}

const rules = (parse(read('ops/alerts.yaml')) as { groups: readonly { rules: readonly Rule[] }[] }).groups.flatMap(
  (group) => group.rules,
)

const dashboard = JSON.parse(read('ops/grafana-dashboard.json')) as {
  templating: { list: readonly { query: string }[] }
  panels: readonly { id: number; title: string; targets: readonly { expr: string }[] }[]
}

const expressions = [
  ...rules.map(({ alert, expr }) => ({ where: alert, expr })),
  ...dashboard.panels.flatMap(({ title, targets }) => targets.map(({ expr }) => ({ where: title, expr }))),
  ...dashboard.templating.list.map(({ query }) => ({ where: 'variable', expr: query })),
]

describe('dashboard and alerts', () => {
  it('name only metrics that a worker exports, by labels that these have', async () => {
    const known = await exported()
    const problems = expressions.flatMap(({ where, expr }) =>
      metricsIn(expr).flatMap(({ name, labels }) => {
        const metric = known.get(metricOf(name))
        if (metric === undefined) return [`${where}: no metric ${name}`]
        return labels.filter((label) => !metric.labels.has(label)).map((label) => `${where}: ${name} has no ${label}`)
      }),
    )
    expect(problems).toEqual([])
    expect(expressions.every(({ expr }) => expr === 'prometheus' || metricsIn(expr).length > 0)).toBe(true)
  })

  it('watch counters that stand at 0 before the first failure, which would pass unseen else', async () => {
    const { reports } = await loadConfig({ env: REQUIRED_ENV, cwd: '/nonexistent' })
    using metrics = new Metrics({ config: { reports, warehouse: '', published: '' }, clock: systemClock, version: '0' })
    const { body } = await metrics.text()
    const zeros = body.split('\n').filter((line) => line.endsWith(' 0'))
    const growing = rules.flatMap(({ alert, expr }) =>
      [...expr.matchAll(/(?:increase|rate)\((tidemark_[a-z_]+)(?:\{(\w+)(!?=)"([^"]*)"\})?\[/g)].map(
        ([, name = '', label = '', sign, value = '']) => ({ alert, name, label, sign, value }),
      ),
    )
    expect(growing.length).toBeGreaterThan(5)
    const unseen = growing.filter(({ name, label, sign, value }) => {
      const narrowed = new RegExp(sign === '!=' ? `[{,]${label}="(?!${value}")` : `[{,]${label}="${value}"`)
      return !zeros.some((line) => line.split(/[{ ]/)[0] === name && (sign === undefined || narrowed.test(line)))
    })
    expect(unseen).toEqual([])
  })

  it('narrow codes and queues by names that exist', () => {
    const values = expressions
      .flatMap(({ expr }) => metricsIn(expr))
      .flatMap(({ labels, values: given }) => labels.map((label, index) => ({ label, value: given[index] ?? '' })))
    const codes = values.filter(({ label }) => label === 'code').map(({ value }) => value)
    expect(codes.filter((code) => !errorCodes.some((known) => known === code))).toEqual([])
    const queues = values.filter(({ label }) => label === 'queue').map(({ value }) => value)
    expect(queues.filter((queue) => !QUEUES.some((known) => known === queue))).toEqual([])
  })

  it('show every metric in some panel', async () => {
    const shown = new Set(
      dashboard.panels.flatMap(({ targets }) =>
        targets.flatMap(({ expr }) => metricsIn(expr).map(({ name }) => metricOf(name))),
      ),
    )
    expect([...(await exported()).keys()].filter((name) => !shown.has(name))).toEqual([])
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length)
  })

  it('lead from each alert to its heading, with its meaning and its cure', () => {
    const text = read('docs/WATCHING.md')
    const { anchors } = markdownOf('docs/WATCHING.md', text)
    for (const { alert, annotations } of rules) {
      expect(annotations.runbook).toBe(`docs/WATCHING.md#${alert.toLowerCase()}`)
      expect([...anchors]).toContain(alert.toLowerCase())
      const section = text.split(`### ${alert}\n`)[1]?.split(/^##/m)[0] ?? ''
      expect(section, alert).toContain('**What it means.**')
      expect(section, alert).toContain('**What to do.**')
      expect(annotations.summary).not.toBe('')
    }
    const headings = [...text.matchAll(/^### (Tidemark\w+)$/gm)].map(([, name]) => name)
    expect(headings).toEqual(rules.map(({ alert }) => alert))
  })
})

describe('docs/WATCHING.md', () => {
  it('describes exactly the metrics that are exported, with their labels', async () => {
    const text = read('docs/WATCHING.md')
    const rows = [...text.matchAll(/^\| `((?:tidemark|process)_\w+)` \| ([^|]*) \|/gm)]
    const described = new Map(
      rows.map(([, name = '', labels = '']) => [
        name,
        [...labels.matchAll(/`(\w+)`/g)].map(([, label]) => label ?? '').toSorted(),
      ]),
    )
    const known = new Map([...(await exported()).values()].map(({ name, labels }) => [name, [...labels].toSorted()]))
    expect(Object.fromEntries(described)).toEqual(Object.fromEntries(known))
  })
})

describe('docs/ERRORS.md, at its top', () => {
  it('leads from each code to its section', () => {
    const links = [...read('docs/ERRORS.md').matchAll(/\[([A-Z_]+)\]\(#([a-z_]+)\)/g)]
    const linked = new Set(links.map(([, code = '', anchor]) => (code.toLowerCase() === anchor ? code : '')))
    expect([...linked].toSorted()).toEqual([...errorCodes].toSorted())
  })
})
