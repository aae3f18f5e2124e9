/**
 * The language rules that a machine can check (docs/STYLE.md, "Language"). Each rule returns its findings with place and
 * text. The limits say how many findings each kind of text may have; they only go down.
 */
import { documents, type Markdown } from './markdown.ts'
import { aroundFiles, productFiles, type Comment, type SourceFile } from './source.ts'

export type Rule = 'words' | 'vague verbs' | 'long sentences' | 'docstrings' | 'participles'
export type TextKind = 'code' | 'tests' | 'documents'

export interface Finding {
  readonly rule: Rule
  readonly name: string
  readonly line: number
  readonly text: string
}

/**
 * The limits, and the only place to lower them. The test prints the present counts and fails only when a count is
 * above its limit.
 */
export const LIMITS: Readonly<Record<TextKind, Readonly<Record<Rule, number>>>> = {
  code: { words: 2, 'vague verbs': 0, 'long sentences': 1, docstrings: 50, participles: 16 },
  tests: { words: 125, 'vague verbs': 196, 'long sentences': 35, docstrings: 41, participles: 64 },
  documents: { words: 30, 'vague verbs': 35, 'long sentences': 55, docstrings: 0, participles: 0 },
}

export const CURES: Readonly<Record<Rule, string>> = {
  words: 'write plain English and name the thing',
  'vague verbs': 'use the verb of the field: returns, throws, contains, stores, is, happens',
  'long sentences': 'cut the sentence in two: the rule, then the exception, then the reason',
  docstrings: 'begin with a verb in the third person: Returns, Reads, Throws',
  participles: 'name it with a noun of the field: BackfillRequest, not Asked',
}

const WORDS =
  /\b(?:who(?:so)?ever|whatever|whichever|anew|so\s+(?:many|much)|stands?|stood|told|owe[sd]?|(?:is|are|was|were|be)\s+let\s+go|lets?\s+go\s+of|for\s+ever|of\s+late|lest|thereof|hence|beside|mended|the\s+like|but\s+for)\b/gi

/** A process may hold a lock and give up. */
const VAGUE_VERBS =
  /\b(?:gives?(?!\s+up)|gave|tells|gave|tells?|says?|said|comes?(?!\s+(?:from|first|last|next|after|before))|came(?!\s+from)|lies|speaks?|spoke|holds?(?!\s+(?:\S+\s+)?(?:lock|lease)))\b/gi

const SENTENCE_WORDS_MAX = 30

/** Names that end like a participle and are nouns. */
const NOUNS = /(?:eed|Thread|Embed|Shed|Red)$/
const PARTICIPLES =
  /(?:ed|Told|Held|Shown|Known|Taken|Given|Kept|Left|Seen|Written|Found|Gone|Made|Done|Lost|Sent|Begun|Put|Said|Meant|Brought|Parts|Standing)$/

/** Returns the findings of the whole project by kind of text. */
export const findingsByKind = (): Readonly<Record<TextKind, readonly Finding[]>> => ({
  code: productFiles().flatMap(languageOfSource),
  tests: aroundFiles().flatMap(languageOfSource),
  documents: documents().flatMap(languageOfDocument),
})

/** Returns the findings in the comments and the names of a source file. */
export function languageOfSource(file: SourceFile): readonly Finding[] {
  const prose = joined(file.comments).flatMap(({ text, line }) =>
    proseFindings(text.replaceAll(/^[ \t]*\*/gm, ''), { name: file.name, line }),
  )
  return [...prose, ...docstringFindings(file), ...participleFindings(file)]
}

/** Returns the findings in a document, outside of its code blocks. */
export const languageOfDocument = ({ name, text }: Pick<Markdown, 'name' | 'text'>): readonly Finding[] =>
  proseFindings(
    text.replaceAll(/^```[^\n]*\n.*?^```$/gms, (block) => block.replaceAll(/[^\n]/g, '')),
    { name, line: 1 },
  )

/** Line comments on consecutive lines are one text. */
function joined(comments: readonly Comment[]): readonly Comment[] {
  const texts: Comment[] = []
  for (const comment of comments) {
    const before = texts.at(-1)
    const continues = before?.lastLine === comment.line - 1 && !`${before.text[0]}${comment.text[0]}`.includes('*')
    if (continues) texts.pop()
    texts.push(continues ? { ...before, text: `${before.text}\n${comment.text}`, lastLine: comment.lastLine } : comment)
  }
  return texts
}

interface Place {
  readonly name: string
  readonly line: number
}

function proseFindings(text: string, place: Place): readonly Finding[] {
  return paragraphsOf(text, place.line).flatMap((paragraph) => {
    const finding = (rule: Rule, index: number, shown: string): Finding => {
      const line = paragraph.line + paragraph.text.slice(0, index).split('\n').length - 1
      return { rule, name: place.name, line, text: shown.trim().replaceAll(/\s+/g, ' ') }
    }
    const matches = (rule: Rule, pattern: RegExp) =>
      [...paragraph.text.matchAll(pattern)].map(({ index, 0: word }) =>
        finding(rule, index, `"${word}" in: ${around(paragraph.text, index)}`),
      )
    return [
      ...matches('words', WORDS),
      ...matches('vague verbs', VAGUE_VERBS),
      ...sentencesOf(paragraph.text)
        .filter((sentence) => wordsIn(sentence.text) > SENTENCE_WORDS_MAX)
        .map((sentence) =>
          finding('long sentences', sentence.index, `${wordsIn(sentence.text)} words: ${sentence.text}`),
        ),
    ]
  })
}

const AROUND_CHARS = 40
const around = (text: string, index: number) => text.slice(Math.max(0, index - AROUND_CHARS), index + AROUND_CHARS)

/** A list item, a heading and a table's cell are paragraphs of their own. Code spans and link targets are no prose. */
function paragraphsOf(text: string, firstLine: number): readonly { readonly text: string; readonly line: number }[] {
  const paragraphs: { text: string; line: number }[] = []
  let isOpen = false
  const clean = text
    .replaceAll(/`[^`]+`/g, (span) => `\`${'\n'.repeat(span.split('\n').length - 1)}\``)
    .replaceAll(/\]\([^)\s]*\)/g, ']')
  for (const [index, content] of clean.split('\n').entries()) {
    const line = firstLine + index
    const last = paragraphs.at(-1)
    const begins = /^\s*(?:[-*]|\d+\.|#+|>)\s|^\s*\|/.test(content)
    if (content.trimStart().startsWith('|'))
      paragraphs.push(...content.split('|').map((cell) => ({ text: cell, line })))
    else if (isOpen && !begins && last !== undefined) last.text += `\n${content}`
    else paragraphs.push({ text: content, line })
    isOpen = content.trim() !== '' && !/^\s*(?:#+\s|\|)/.test(content)
  }
  return paragraphs
}

const sentencesOf = (text: string) =>
  [...text.matchAll(/\S.*?(?:[.!?](?=["')\]*]*\s+["'(*[]*[A-Z`\d])|$(?![\s\S]))/gs)].map(({ index, 0: sentence }) => ({
    index,
    text: sentence,
  }))

const wordsIn = (sentence: string): number => sentence.split(/\s+/).filter((word) => /[\p{L}\p{N}`]/u.test(word)).length

const VERB =
  /^(?!(?:Is|Was|This|Its|Gives|Tells|Says|Holds|Comes|Stands|Lies|Knows)\b)(?:Never [a-z]+s|[A-Z][a-z]*s)\b(?!\s+(?:of|that|which|whose|who|in|from|with|are)\b)/

/** The docstring ends on the line before the export. A function without one needs none. */
function docstringFindings(file: SourceFile): readonly Finding[] {
  const found: Finding[] = []
  file.visit({
    ExportNamedDeclaration: ({ declaration, start }) => {
      const isFunction =
        declaration?.type === 'FunctionDeclaration' ||
        (declaration?.type === 'VariableDeclaration' &&
          declaration.declarations.some(({ init }) => init?.type === 'ArrowFunctionExpression'))
      const line = file.lineAt(start)
      const docstring = file.comments.find(({ text, lastLine }) => lastLine === line - 1 && text.startsWith('*'))
      const text = docstring?.text.replaceAll(/^[ \t]*\*/gm, '').trim() ?? ''
      if (isFunction && text !== '' && !VERB.test(text))
        found.push({ rule: 'docstrings', name: file.name, line: line - 1, text: around(text, 0) })
    },
  })
  return found
}

function participleFindings(file: SourceFile): readonly Finding[] {
  const found: Finding[] = []
  const add = (name: string, line: number) => {
    if (PARTICIPLES.test(name) && !NOUNS.test(name))
      found.push({ rule: 'participles', name: file.name, line, text: name })
  }
  const [, base] = /\/([a-z]+)\.ts$/.exec(file.name) ?? []
  if (base !== undefined) add(`${base.charAt(0).toUpperCase()}${base.slice(1)}`, 1)
  file.visit({
    TSInterfaceDeclaration: ({ id }) => add(id.name, file.lineAt(id.start)),
    TSTypeAliasDeclaration: ({ id }) => add(id.name, file.lineAt(id.start)),
    ClassDeclaration: ({ id }) => add(id?.name ?? '', file.lineAt(id?.start ?? 0)),
  })
  return found
}
