/** Describes a lake's latest upkeep (maintenance of its files), for `status` and the console. */
import type { LakeUpkeep } from '../warehouse/database/upkeep.ts'
import { counted, grouped, wholeSeconds } from '../words.ts'

export function upkeepText(last: LakeUpkeep | undefined): string[] {
  if (last === undefined) return []
  const { began_at: began, before, after, left, failed } = last
  const figures = Object.entries(after ?? before).map(([figure, count]) => {
    const change = after === null ? '' : ` (${grouped(before[figure as keyof typeof before])} before)`
    return `${grouped(count)} ${figure.replace('_', ' ')}${change}`
  })
  const first = `The last upkeep of the lake ${after === null ? 'began' : 'was'} at ${wholeSeconds(began)}: ${figures.join(', ')}.`
  const rest = left === 0 ? [] : [`The next upkeep does ${counted(left, 'step')} that this one did not do.`]
  return [first, ...rest, ...failed.map((error) => `A step of the upkeep failed: ${error}`)]
}
