/** Gives every test run a folder for templates (templates.ts), and removes it at the end. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { TEMPLATES } from './templates.ts'

/** Test processes inherit the folder's name with the environment. */
export default async function setup(): Promise<() => Promise<void>> {
  // Several projects of one run share the folder of the first.
  if (process.env[TEMPLATES] !== undefined) return () => Promise.resolve()
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-templates-'))
  process.env[TEMPLATES] = folder
  return () => rm(folder, { recursive: true, force: true })
}
