/** Reads one span of a report whole, on each axis of time that its rows may stand on, and tells each slice proven. */
import type { Span } from '../../plan/spans.ts'
import type { Difference, GoneKey } from './difference.ts'
import type { Proven } from './pageWalk.ts'
import type { Scope } from './scope.ts'

export interface WindowReading {
  readonly scope: Scope
  /** For reports whose deletions only a second read shows. */
  readonly difference: Difference | undefined
  readonly close: (slice: Span, proven: Proven, gone?: readonly GoneKey[]) => Promise<void>
}

/** By creation first, where rows may never have been modified, then by modification: only that closes a window. */
export async function readWindow({ scope, difference, close }: WindowReading, span: Span): Promise<void> {
  const { declaration, config } = scope.parts
  if (config.askCreated && declaration.created !== undefined) {
    await scope.proveAll('created', [span], () => Promise.resolve())
  }
  await scope.proveAll('window', [span], async (slice, proven) => {
    await close(slice, proven, await difference?.goneKeys(slice, proven))
  })
}
