/**
 * Everything that a worker's console says to who has its token, headers and all: pages, answers of its API, metrics.
 */
import { readdirSync } from 'node:fs'
import path from 'node:path'
import { ROOT } from '../rules/source.ts'

export interface Said {
  readonly place: string
  readonly text: string
}

export interface Place {
  readonly url: string
  readonly token: string
  readonly report: string
}

interface Openapi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

const PAGES = [
  '/',
  '/login',
  '/metrics',
  '/healthz',
  '/readyz',
  '/nowhere',
  '/api/openapi.json',
  ...readdirSync(path.join(ROOT, 'src/console/page'))
    .filter((name) => /\.(js|css|svg)$/.test(name))
    .map((name) => `/page/${name}`),
]

/** Asks for every page and address that can be read, and acts as a person may, well and badly. */
export async function consoleText({ url, token, report }: Place): Promise<Said[]> {
  const said: Said[] = []
  const ask = async (address: string, init: RequestInit = {}, headers: Record<string, string> = asMachine(token)) => {
    const response = await fetch(`${url}${address}`, { redirect: 'manual', ...init, headers })
    const text = await response.text()
    said.push({ place: `${init.method ?? 'GET'} ${address}`, text: `${JSON.stringify([...response.headers])} ${text}` })
    return text
  }
  const post = (address: string, body: object, headers?: Record<string, string>) =>
    ask(address, { method: 'POST', body: JSON.stringify(body) }, { ...(headers ?? asMachine(token)), ...JSON_BODY })
  for (const address of PAGES) await ask(address)
  const { paths } = JSON.parse(await ask('/api/openapi.json')) as Openapi
  const { runs } = JSON.parse(await ask('/api/runs?limit=200')) as { runs: { run_id: string }[] }
  const values: Record<string, readonly string[]> = {
    report: [report],
    run: runs.slice(0, 20).map(({ run_id: id }) => id),
    errand: ['00000000-0000-4000-8000-000000000000'],
  }
  for (const [address, methods] of Object.entries(paths)) {
    if ('get' in methods) for (const filled of filledIn(address, values)) await ask(filled)
  }
  for (const act of ['sync', 'pause', 'resume', 'rejected/retry', 'reconcile'])
    await post(`/api/${act}`, { reports: [report] })
  await post('/api/backfills/plan', { report, from: '2024-01-01T00:00:00Z' })
  await post('/api/cancel', { id: 'nothing' })
  const loggedIn = { 'x-tidemark-console': '1' }
  for (const given of [token, `${token}-wrong`, 7]) await post('/api/session', { token: given }, loggedIn)
  said.push({ place: 'GET /api/live', text: await firstOf(`${url}/api/live`, asMachine(token)) })
  return said
}

const JSON_BODY = { 'content-type': 'application/json' }
const asMachine = (token: string) => ({ authorization: `Bearer ${token}` })

/** The address with each of the values that stand for its parameter. */
function filledIn(address: string, values: Readonly<Record<string, readonly string[]>>): string[] {
  const [parameter, name = ''] = /\{(\w+)\}/.exec(address) ?? []
  if (parameter === undefined) return [address]
  const known = values[name]
  if (known === undefined) throw new TypeError(`${address}: say what stands for ${name}`)
  return known.map((value) => address.replace(parameter, value))
}

/** The first that comes of what never ends. */
async function firstOf(address: string, headers: Record<string, string>): Promise<string> {
  const ending = new AbortController()
  const response = await fetch(address, { headers, signal: ending.signal })
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  const { value } = await reader.read()
  ending.abort()
  return new TextDecoder().decode(value)
}
