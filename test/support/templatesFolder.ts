/** Creates a folder for templates (templates.ts) for every test run, and removes it at the end. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { TEMPLATES } from './templates.ts'

/** Test processes inherit the folder's name in their environment. */
export default async function setup(): Promise<() => Promise<void>> {
  // The projects of a run share one folder.
  if (process.env[TEMPLATES] !== undefined) return () => Promise.resolve()
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-templates-'))
  process.env[TEMPLATES] = folder
  return () => rm(folder, { recursive: true, force: true })
}
