/** Finds or starts a Redis for a test run. Without Redis, the run fails: tests are never skipped. */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import type { TestProject } from 'vitest/node'
import { programOnPath } from './programsOnPath.ts'
import { chooseRedis, INSTALL, type Machine, type RedisChoice } from './redisChoice.ts'
import { startRedis } from './redisServer.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** Each test uses its own prefix. */
    redisUrl: string
  }
}

const IMAGE = process.env['TIDEMARK_REDIS_IMAGE'] ?? 'redis:7-alpine'
const REDIS_PORT = 6_379

interface Running {
  readonly url: string
  stop(): Promise<unknown>
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const running = await opened(chooseRedis(await thisMachine()))
  project.provide('redisUrl', running.url)
  return async () => {
    await running.stop()
  }
}

async function thisMachine(): Promise<Machine> {
  const redisUrl = process.env['REDIS_URL']
  const server = programOnPath('redis-server')
  const isFound = redisUrl !== undefined || server !== undefined
  return {
    redisUrl,
    server,
    // The check takes seconds if there is no container engine.
    hasDockerEngine: !isFound && (await hasDockerEngine()),
    mayInstall: existsSync('/etc/debian_version') && process.getuid?.() === 0,
  }
}

/** Returns whether testcontainers would find a container engine. */
export async function hasDockerEngine(): Promise<boolean> {
  const { getContainerRuntimeClient } = await import('testcontainers')
  return await getContainerRuntimeClient().then(
    () => true,
    () => false,
  )
}

async function opened(choice: RedisChoice): Promise<Running> {
  switch (choice.way) {
    case 'given':
      return { url: choice.url, stop: async () => undefined }
    case 'spawn':
      return await startRedis({ server: choice.server })
    case 'container':
      return await startContainer()
    case 'install': {
      console.log(`No Redis here: installing the distribution's package (${INSTALL})`)
      execFileSync('sh', ['-c', INSTALL], { stdio: ['ignore', 'ignore', 'inherit'] })
      return await startRedis()
    }
    default:
      throw new TypeError(choice.message)
  }
}

/** Starts a Redis in a container, which testcontainers removes. */
export async function startContainer(command: readonly string[] = ['redis-server']): Promise<Running> {
  const { GenericContainer } = await import('testcontainers')
  const plan = new GenericContainer(IMAGE).withExposedPorts(REDIS_PORT).withCommand([...command])
  const container = await plan.start()
  return { url: `redis://${container.getHost()}:${container.getMappedPort(REDIS_PORT)}`, stop: () => container.stop() }
}
