/** Draws an SVG as a PNG in `docs/images`, with the Chromium of this machine. */
import { stat } from 'node:fs/promises'
import path from 'node:path'
import { chromium } from 'playwright-core'
import { ROOT } from '../../test/rules/source.ts'
import { chromiumHere } from '../../test/support/chromium.ts'

export interface Size {
  readonly width: number
  readonly height: number
}

export const INK = '#1f2937'
export const FAINT = '#6b7280'
export const GRID = '#e5e7eb'
export const COLOURS = ['#0f766e', '#b45309', '#7c3aed', '#be123c'] as const

/** Twice as many pixels make text sharp on all screens. */
const PIXELS_PER_UNIT = 2

export async function drawPicture(file: string, svg: string, size: Size): Promise<void> {
  const program = chromiumHere()
  if (program === undefined) throw new TypeError('The charts need a Chromium. Type: sudo apt-get install chromium')
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : []
  const browser = await chromium.launch({ executablePath: program, args })
  try {
    const page = await browser.newPage({ viewport: size, deviceScaleFactor: PIXELS_PER_UNIT })
    await page.setContent(`<body style="margin:0;background:white">${svg}</body>`)
    const target = path.join(ROOT, 'docs/images', file)
    await page.screenshot({ path: target })
    process.stdout.write(`docs/images/${file}: ${Math.round((await stat(target)).size / 1_000)} kB\n`)
  } finally {
    await browser.close()
  }
}

export const svgOf = ({ width, height }: Size, parts: readonly string[]): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="DejaVu Sans, sans-serif">${parts.join('')}</svg>`

export interface Place {
  readonly x: number
  readonly y: number
}

interface TextStyle {
  readonly size?: number
  readonly colour?: string
  readonly bold?: boolean
  readonly anchor?: 'start' | 'middle' | 'end'
}

export function textAt({ x, y }: Place, words: string, style: TextStyle = {}): string {
  const { size = 12, colour = INK, bold = false, anchor = 'start' } = style
  const escaped = words.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
  const weight = bold ? ' font-weight="bold"' : ''
  return `<text x="${x}" y="${y}" font-size="${size}" fill="${colour}" text-anchor="${anchor}"${weight}>${escaped}</text>`
}
