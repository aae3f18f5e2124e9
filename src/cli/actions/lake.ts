/** `tidemark lake`: runs a lake's upkeep now, or upgrades its catalogue to the format of the installed DuckLake. */
import { SyncError, usageError } from '../../errors.ts'
import { upkeepText } from '../../status/upkeepText.ts'
import { lakeName, upgradeLake } from '../../warehouse/database/lake.ts'
import { openWarehouse } from '../../wiring/openContext.ts'
import { print } from '../commandOutput.ts'
import type { Action, CommandOptions } from '../shell.ts'

export const lake: Action<CommandOptions, string> = async (shell, { config, ...options }, what) => {
  const cure = 'Run "tidemark lake upkeep" or "tidemark lake upgrade", and only if warehouse is a lake (ducklake:…).'
  if (config.lake === undefined || !['upkeep', 'upgrade'].includes(what))
    throw usageError(`"tidemark lake ${what}" is not possible here`, cure)
  if (what === 'upgrade') {
    const name = lakeName(config.lake)
    const copy = await upgradeLake(config.lake, { memory: config.limits.warehouseMemory }, shell.clock.now())
    const done = copy === undefined ? 'it needs no upgrade' : `it was upgraded, and the old catalogue is in ${copy}`
    return print(shell, options, { document: { copy: copy ?? null }, text: () => `${name}: ${done}\n` })
  }
  await using warehouse = await openWarehouse(config)
  const { clock, stop } = shell
  const document = await warehouse.upkeep({ ...config.lake, clock, signal: stop.signal, isOrdered: true })
  const isBusy = 'another process does the upkeep now'
  if (document === undefined)
    throw new SyncError('LAKE_BUSY', isBusy, { cure: '"tidemark status" shows when it ends.' })
  const text = () => `${upkeepText(document).join('\n')}\n`
  return print(shell, options, { failed: document.failed.length > 0, document, text })
}
