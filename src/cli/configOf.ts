/** The configuration of a command: from `--config`, or where it is looked for without. */
import { type Config, loadConfig } from '../config/config.ts'
import type { Shell } from './shell.ts'

export const configOf = ({ env, cwd }: Pick<Shell, 'env' | 'cwd'>, file: string | undefined): Promise<Config> =>
  loadConfig({ env, cwd, ...(file !== undefined && { file }) })
