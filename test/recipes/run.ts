/**
 * `npm run test:recipes`: runs each recipe of ops/recipes with its real scheduler (cron's shell, make, the steps of
 * GitHub Actions in bash, Airflow, Dagster, Prefect) on a warehouse of a test. Each must write its file when the events
 * are complete, and must not write it while the events are paused. Without Python or a package index, it prints the
 * reason and runs the others.
 */
import { execFile } from 'node:child_process'
import { mkdir, readFile, rm } from 'node:fs/promises'
import path from 'node:path'
import { parse } from 'yaml'
import { Database } from '../../src/warehouse/database/duckdb.ts'
import { aWorld, LAUNCHER, SECRET_TEXT, type World } from '../cli/support.ts'
import { aPython } from '../dbt/python.ts'
import { ROOT } from '../rules/source.ts'

const RECIPES = path.join(ROOT, 'ops/recipes')
const TIDEMARK = `${process.execPath} ${LAUNCHER}`
const RESULT = 'events_by_status.csv'
const RECIPE_MS_MAX = 5 * 60_000

interface Recipe {
  readonly name: string
  /** Lines for bash. Each must succeed for the recipe to succeed. */
  readonly lines: readonly string[]
}

const recipe = (name: string): string => path.join(RECIPES, name)
/** What a person replaces in a recipe: the folder and the command. */
const here = (line: string): string => line.replaceAll('/srv/tidemark', '.').replaceAll('npx tidemark', TIDEMARK)

async function shellRecipes(): Promise<Recipe[]> {
  const crontab = (await readFile(recipe('crontab'), 'utf8')).split('\n').find((line) => /^\d/.test(line)) ?? ''
  const cron = crontab.split(' ').slice(5).join(' ').replace('models.mk', recipe('models.mk'))
  const actions = parse(await readFile(recipe('github-actions.yml'), 'utf8')) as {
    jobs: { models: { steps: readonly { run: string }[] } }
  }
  // A mark is older than the present by the setting `settle`, so the recipe for 6 o'clock is run for ten minutes ago.
  const past = here(cron).replace('--iso-8601=seconds', "--iso-8601=seconds --date '10 minutes ago'")
  return [
    { name: 'cron', lines: [past.replace('make ', `make TIDEMARK='${TIDEMARK}' `)] },
    { name: 'make', lines: [`make TIDEMARK='${TIDEMARK}' -f ${recipe('models.mk')} models`] },
    { name: 'GitHub Actions', lines: actions.jobs.models.steps.map(({ run }) => here(run)) },
  ]
}

function pythonRecipes(bin: string): Recipe[] {
  const dag = `${bin}/airflow dags test events_by_status "$(date --utc --iso-8601=seconds --date '2 hours ago')"`
  return [
    { name: 'Airflow', lines: [`${bin}/airflow db migrate`, dag] },
    { name: 'Dagster', lines: [`${bin}/dagster asset materialize --select '*' -f ${recipe('dagster_assets.py')}`] },
    { name: 'Prefect', lines: [`${bin}/python ${recipe('prefect_flow.py')}`] },
  ]
}

async function runRecipe(world: World, { lines }: Recipe): Promise<{ output: string; result: string | undefined }> {
  const homes = path.join(world.folder, 'homes')
  await mkdir(homes, { recursive: true })
  await rm(path.join(world.folder, RESULT), { force: true })
  const env = {
    PATH: process.env['PATH'],
    HOME: homes,
    // The recipes are read from the checkout, which must stay as it is.
    PYTHONDONTWRITEBYTECODE: '1',
    TIDEMARK,
    TIDEMARK_FOLDER: world.folder,
    REPORTING_CLIENT_SECRET: SECRET_TEXT,
    AIRFLOW_HOME: homes,
    AIRFLOW__CORE__DAGS_FOLDER: RECIPES,
    AIRFLOW__CORE__LOAD_EXAMPLES: 'False',
    DAGSTER_HOME: homes,
    PREFECT_HOME: homes,
    PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS: '120',
    DO_NOT_TRACK: '1',
    DAGSTER_DISABLE_TELEMETRY: '1',
  }
  const script = ['set -euo pipefail', ...lines].join('\n')
  const output = await new Promise<string>((resolve) => {
    execFile('bash', ['-c', script], { cwd: world.folder, env, timeout: RECIPE_MS_MAX }, (error, stdout, stderr) =>
      resolve(`${stdout}${stderr}${error === null ? '' : `\n${error.message}`}`),
    )
  })
  return { output, result: await readFile(path.join(world.folder, RESULT), 'utf8').catch(() => undefined) }
}

const python = await aPython(path.join(import.meta.dirname, 'requirements.txt'))
if (typeof python === 'string') console.log(`Airflow, Dagster and Prefect were not run: ${python}`)
const recipes = [...(await shellRecipes()), ...(typeof python === 'string' ? [] : pythonRecipes(python.bin))]
await using world = await aWorld({ sandbox: { rows: 60 } })
for (const each of recipes) {
  await world.run('resume', 'events')
  await world.run('sync', 'events', 'budgets')
  const complete = await runRecipe(world, each)
  say(each.name, 'writes its file when the events are complete', {
    isWell: complete.result !== undefined && /^status,events\n\w+,\d+\n/.test(complete.result),
    output: complete.output,
  })
  await world.run('pause', 'events')
  await forgetPublished(world)
  const paused = await runRecipe(world, each)
  say(each.name, 'writes nothing while the events are paused', {
    isWell:
      paused.result === undefined &&
      /it is paused|exit code 3|exit status 3|returned a nonzero|Error 3/.test(paused.output),
    output: paused.output,
  })
}

/** Sets the published mark of the events back by a day, so that the recipes would have to wait. */
async function forgetPublished({ folder }: World): Promise<void> {
  await using copy = await Database.open(path.join(folder, 'data/published.duckdb'), { memory: '256MB' })
  await copy.run("UPDATE tidemark.marks SET value = value - INTERVAL 1 DAY WHERE report = 'events'")
}

function say(name: string, what: string, { isWell, output }: { isWell: boolean; output: string }): void {
  console.log(`${isWell ? 'passed' : 'failed'}: ${name} ${what}`)
  if (isWell) return
  console.log(output)
  process.exitCode = 1
}
