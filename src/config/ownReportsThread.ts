/** Runs in a thread: imports declaration files, and sends the declarations to the main thread. */
import { spawnSync } from 'node:child_process'
import { registerHooks } from 'node:module'
import { pathToFileURL } from 'node:url'
import { parentPort, workerData } from 'node:worker_threads'
import type { LoadedModule } from './ownReports.ts'

/** Declarations import this program's library, even if another version is installed. */
const LIBRARY = new URL('../library/index.ts', import.meta.url).href
registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'tidemark' ? { url: LIBRARY, shortCircuit: true } : next(specifier, context),
})

for (const file of workerData as readonly string[]) parentPort?.postMessage(await loadModule(file), [])

async function loadModule(file: string): Promise<LoadedModule> {
  try {
    const module = (await import(pathToFileURL(file).href)) as Record<string, unknown>
    const exported = Object.values(module).filter(
      (value) => typeof value === 'object' && value !== null && 'path' in value,
    )
    // JSON drops functions, which cannot be sent to another thread.
    return { file, exported: JSON.parse(JSON.stringify(exported)) as unknown[] }
  } catch (thrown) {
    const { message, stack = '' } = thrown instanceof Error ? thrown : new Error(String(thrown))
    const [, place = ''] = (thrown instanceof SyntaxError ? syntaxError(file, stack) : stack).split(`${file}:`)
    return { file, line: Number.parseInt(place, 10) || undefined, error: `throws ${message.split('\n')[0] ?? ''}` }
  }
}

/** For JavaScript, only `node --check` prints the line of a syntax error. */
function syntaxError(file: string, stack: string): string {
  if (stack.includes(`${file}:`)) return stack
  return spawnSync(process.execPath, ['--check', file], { encoding: 'utf8' }).stderr
}
