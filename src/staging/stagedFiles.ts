/**
 * Staged files that are gone, or not whole, before they were loaded: something emptied the staging directory under a
 * run. The warehouse says of that no more than that it cannot read them, as it would of rows that no load can take.
 */
import { stat } from 'node:fs/promises'
import { SyncError } from '../errors.ts'

export function stagedMissing(what: string, cause?: unknown): SyncError {
  return new SyncError('STAGED_MISSING', what, {
    cure: 'The window is pulled again. If it stays, look that all workers share one staging directory and nothing else cleans it.',
    ...(cause === undefined ? {} : { cause }),
  })
}

interface StagedFile {
  readonly file: string
  readonly bytes: number
}

/** Error: STAGED_MISSING unless every file of a segment is there, as long as it was written. */
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
