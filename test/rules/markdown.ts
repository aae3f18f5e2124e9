/** The project's documents, and what a test needs to know of each: its links, headings, commands and blocks. */
import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { ROOT } from './source.ts'

export interface Block {
  /** The text after the three backticks. */
  readonly kind: string
  readonly text: string
  readonly line: number
}

export interface Markdown {
  readonly name: string
  readonly text: string
  readonly links: readonly string[]
  readonly anchors: ReadonlySet<string>
  /** Names that follow `npm run`. */
  readonly scripts: readonly string[]
  readonly blocks: readonly Block[]
}

export const documents = (): readonly Markdown[] =>
  globSync(['*.md', 'docs/**/*.md', 'bench/**/*.md', 'jobs/**/*.md', 'schema/**/*.md', 'src/**/*.md'], { cwd: ROOT })
    .toSorted((a, b) => a.localeCompare(b))
    .map((name) => markdownOf(name, readFileSync(path.join(ROOT, name), 'utf8')))

export function markdownOf(name: string, text: string): Markdown {
  const prose = text.replaceAll(FENCED, '').replaceAll(/`[^`\n]*`/g, '')
  return {
    name,
    text,
    links: [...prose.matchAll(/\]\(<?([^)\s>]+)/g)].map(([, target]) => target ?? ''),
    anchors: new Set(anchorsOf(text.replaceAll(FENCED, ''))),
    scripts: [...text.matchAll(/npm run (?:(?:-s|--silent) )?([\w:-]+)/g)].map(([, script]) => script ?? ''),
    blocks: [...text.matchAll(FENCED)].map(({ 1: kind = '', 2: body = '', index }) => ({
      kind: kind.trim(),
      text: body,
      line: text.slice(0, index).split('\n').length,
    })),
  }
}

const FENCED = /^```([^\n]*)\n(.*?)^```$/gms

/** A forge numbers the anchors of equal headings: `state`, `state-1`. */
function* anchorsOf(text: string): Generator<string, void, void> {
  const seen = new Map<string, number>()
  for (const [, heading = ''] of text.matchAll(/^#+ +(.*)$/gm)) {
    const slug = slugOf(heading)
    const before = seen.get(slug) ?? 0
    seen.set(slug, before + 1)
    yield before === 0 ? slug : `${slug}-${before}`
  }
}

/** As a forge makes a heading's anchor. */
const slugOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(' ', '-')
