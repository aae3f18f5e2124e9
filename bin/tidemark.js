#!/usr/bin/env node
/**
 * The launcher. It runs the command line on the Node version that the project pins in node_modules, even if another
 * Node has started it. It raises the number of threads, so that a long DuckDB statement never blocks reading files.
 * Plain JavaScript without syntax newer than Node 20, because every Node must be able to start it.
 */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import nodeModule, { createRequire } from 'node:module'
import { constants } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { isOldNode, NODE_NEEDED } from './nodeVersion.js'

/** The source in a checkout, or the built files of an installed package, in which Node does not strip types. */
const PROGRAMS = ['../src/cli/main.ts', '../src/cli/main.js', '../dist/src/cli/main.js']
/** Must be set before the first asynchronous read of a file, when libuv creates its threads. */
process.env.UV_THREADPOOL_SIZE ??= '16'
const PARENT_CHECK_MS = 500

// npm and npx pass a signal only to the shell that they start. So a program of theirs ends when that shell has ended.
if (process.env.npm_command !== undefined && process.platform !== 'win32') {
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    process.kill(process.pid, 'SIGTERM')
  }, PARENT_CHECK_MS)
  timer.unref()
}

if (!isOldNode) {
  // With compiled code, a start needs half the processor time. Node ignores the cache if it can't write the folder.
  nodeModule.enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/tidemark', import.meta.url)))
  const program = PROGRAMS.map((each) => new URL(each, import.meta.url)).find((each) => existsSync(each))
  const { main } = await import(program?.href ?? PROGRAMS[0])
  await main(process.argv.slice(2))
} else {
  relaunch()
}

function relaunch() {
  const pinned = pinnedNode()
  if (pinned === undefined) {
    const isInstalled = import.meta.url.includes('/node_modules/')
    const cure = isInstalled
      ? `install Node ${NODE_NEEDED} or newer, or run "npm install" again without --omit=optional`
      : `run "npm ci" in ${fileURLToPath(new URL('..', import.meta.url))}, or install a newer Node`
    process.stderr.write(
      `tidemark needs Node ${NODE_NEEDED} or newer, this is ${process.version}, and the one that the project pins is not installed: ${cure}\n`,
    )
    process.exitCode = 1
    return
  }
  // Limits V8's young generation. Otherwise memory of pages that are already stored would be freed late.
  const flags = ['--max-semi-space-size=8']
  const child = spawn(pinned, [...flags, fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
    // The IPC channel carries no messages. Its end shows the program that the launcher has ended.
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    // With glibc's defaults, each thread keeps freed memory in its own arena, and malloc keeps large freed blocks
    // instead of returning them to the system.
    env: { MALLOC_ARENA_MAX: '2', MALLOC_MMAP_THRESHOLD_: '262144', ...process.env, TIDEMARK_LAUNCHED: '1' },
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.once('error', (error) => {
    process.stderr.write(`tidemark could not start ${pinned}: ${error.message}\n`)
    process.exitCode = 1
  })
  child.once('exit', (code, signal) => {
    process.exitCode = code ?? 128 + (constants.signals[signal ?? 'SIGTERM'] ?? 0)
  })
}

/** Returns the path of the pinned Node, which npm installs as a package; undefined if this platform has none. */
function pinnedNode() {
  try {
    const packageFile = createRequire(import.meta.url).resolve(`node-${process.platform}-${process.arch}/package.json`)
    const binary = path.join(path.dirname(packageFile), 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
    return existsSync(binary) ? binary : undefined
  } catch {
    return undefined
  }
}
