/**
 * Checks staged files before a load: DuckDB's errors do not distinguish a missing file from rows that it can't read.
 */
import { stat } from 'node:fs/promises'
import { SyncError } from '../errors.ts'

/** Returns the error for a staged file that is missing or incomplete. */
export function stagedMissing(what: string, cause?: unknown): SyncError {
  return new SyncError('STAGED_MISSING', what, {
    cure: 'The window is pulled again. If it happens again, check that all workers share one staging directory and that no other program cleans it.',
    ...(cause === undefined ? {} : { cause }),
  })
}

interface StagedFile {
  readonly file: string
  readonly bytes: number
}

/** Throws STAGED_MISSING unless each file of a segment exists with the size that was written. */
export async function checkSegment(
  segment: StagedFile & { readonly collections: readonly StagedFile[] },
): Promise<void> {
  for (const each of [segment, ...segment.collections]) await checkFile(each)
}

async function checkFile({ file, bytes }: StagedFile): Promise<void> {
  const found = await stat(file).catch((error: unknown) => {
    throw stagedMissing(`the staged rows ${file} are gone`, error)
  })
  if (found.size !== bytes) throw stagedMissing(`the staged rows ${file} have ${found.size} bytes instead of ${bytes}`)
}
