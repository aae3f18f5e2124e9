#!/usr/bin/env node
/**
 * The launcher. It runs the command line on the Node that the project pins in node_modules, whatever Node started it,
 * and gives the program enough threads that a long statement of DuckDB never keeps files from being read. Plain
 * JavaScript without syntax newer than Node 20, since it must start everywhere.
 */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { constants } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

/** The first Node that runs TypeScript files as they are, without a warning. */
const NODE_MIN = [24, 12]
/** The source in a checkout; in an installed package what was built of it, as Node strips no types there. */
const PROGRAMS = ['../src/cli/main.ts', '../src/cli/main.js', '../dist/src/cli/main.js']
/** libuv makes its threads at their first use, so this has to stand before anything reads a file in the background. */
process.env.UV_THREADPOOL_SIZE ??= '16'

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)

if (major > NODE_MIN[0] || (major === NODE_MIN[0] && minor >= NODE_MIN[1])) {
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
      ? `install Node ${NODE_MIN.join('.')} or newer, or run "npm install" again without --omit=optional`
      : `run "npm ci" in ${fileURLToPath(new URL('..', import.meta.url))}, or install a newer Node`
    process.stderr.write(
      `tidemark needs Node ${NODE_MIN.join('.')} or newer, this is ${process.version}, and the one that the project pins is not installed: ${cure}\n`,
    )
    process.exitCode = 1
    return
  }
  // The channel has no messages: its end tells the program that its launcher is gone.
  // Pages come and go as large buffers: a small nursery keeps what is dead from piling up.
  const flags = ['--max-semi-space-size=8']
  const child = spawn(pinned, [...flags, fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    // DuckDB's threads and Node's would each keep freed memory in an arena of their own; and what is large goes back to
    // the system as soon as it is free, where malloc would get used to its size and keep it.
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

/** Wherever npm has put the package with the binary; undefined where there is none for this platform. */
function pinnedNode() {
  try {
    const packageFile = createRequire(import.meta.url).resolve(`node-${process.platform}-${process.arch}/package.json`)
    const binary = path.join(path.dirname(packageFile), 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
    return existsSync(binary) ? binary : undefined
  } catch {
    return undefined
  }
}
