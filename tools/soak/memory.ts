/** Checks whether memory grows: fits a least-squares line through samples from many processes. */

export interface MemorySample {
  readonly role: 'owner' | 'puller'
  readonly pid: number
  readonly atSeconds: number
  readonly ageSeconds: number
  readonly bytes: number
}

export interface MemoryFigures {
  readonly role: MemorySample['role']
  readonly samples: number
  readonly medianMb: number
  readonly maxMb: number
  /** The growth of all processes of the role, over the whole soak. */
  readonly mbPerMinute: number
}

/** A younger process still fills its caches. */
const GROWN_SECONDS = 15
const MB = 2 ** 20

export function memoryOf(samples: readonly MemorySample[], role: MemorySample['role']): MemoryFigures {
  const grown = samples.filter((each) => each.role === role && each.ageSeconds >= GROWN_SECONDS)
  const sizes = grown.map(({ bytes }) => bytes / MB).toSorted((a, b) => a - b)
  return {
    role,
    samples: grown.length,
    medianMb: sizes[Math.floor(sizes.length / 2)] ?? 0,
    maxMb: sizes.at(-1) ?? 0,
    mbPerMinute: slopeOf(grown.map(({ atSeconds, bytes }) => [atSeconds / 60, bytes / MB])),
  }
}

function slopeOf(points: readonly (readonly [number, number])[]): number {
  const mean = (at: 0 | 1) => points.reduce((sum, point) => sum + point[at], 0) / points.length
  const [x, y] = [mean(0), mean(1)]
  const spread = points.reduce((sum, [px]) => sum + (px - x) ** 2, 0)
  if (spread === 0 || points.length === 0) return 0
  return points.reduce((sum, [px, py]) => sum + (px - x) * (py - y), 0) / spread
}
