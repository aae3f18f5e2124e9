/** Fails the container tests with one clear line if there is no container engine. */
import { hasDockerEngine } from './redis.ts'

export default async function setup(): Promise<void> {
  if (await hasDockerEngine()) return
  console.error('No container engine answers: start Docker (or set DOCKER_HOST), then run: npm run test:containers')
  process.exit(1)
}
