/** Gives every test run a folder for templates (templates.ts), and removes it at the end. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  export interface ProvidedContext {
    /** Undefined in a project without this setup. */
    templates?: string
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-templates-'))
  project.provide('templates', folder)
  return () => rm(folder, { recursive: true, force: true })
}
