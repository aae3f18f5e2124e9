/** Loads the configuration of a command: from `--config`, or from its usual places. */
import { type Config, loadConfig } from '../config/config.ts'
import type { Shell } from './shell.ts'

export const configOf = ({ env, cwd }: Pick<Shell, 'env' | 'cwd'>, file: string | undefined): Promise<Config> =>
  loadConfig({ env, cwd, ...(file !== undefined && { file }) })
