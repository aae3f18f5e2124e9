/** `tidemark init`, as it is typed. */
import type { Command } from 'commander'
import type { InitOptions } from '../actions/init.ts'
import type { Done, Shell } from '../shell.ts'

const EXAMPLES = `
Examples:
  $ tidemark init
  $ REPORTING_CLIENT_SECRET_FILE=/run/secrets/reporting tidemark init --base-url https://reports.example.com \\
      --client-id acme --currencies EUR,USD

It asks for what is not given by options or the environment, tries it against the service, then writes
tidemark.yaml and .env (mode 600, named in .gitignore). The secret is never an option: it is asked for,
or comes from REPORTING_CLIENT_SECRET or REPORTING_CLIENT_SECRET_FILE. Files that are there are not
replaced without a question, or --force.`

export function initCommand(program: Command, shell: Shell, done: Done): void {
  program
    .command('init')
    .description('ask for the few settings, try them, and write tidemark.yaml and .env')
    .option('--base-url <url>', 'address of the reporting service (REPORTING_BASE_URL)')
    .option('--client-id <id>', 'client identifier (REPORTING_CLIENT_ID)')
    .option('--currencies <list>', 'currencies to ask for, such as EUR,USD (TIDEMARK_CURRENCIES)')
    .option('--warehouse <file>', 'where the warehouse lies (TIDEMARK_WAREHOUSE)')
    .option('--force', 'replace files that are there, without a question')
    .option('--no-try', 'write without trying the settings against the service')
    .addHelpText('after', EXAMPLES)
    .action(async (options: InitOptions) => {
      const { init } = await import('../actions/init.ts')
      done(await init(shell, options))
    })
}
