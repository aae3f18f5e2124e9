/** Prints the findings of the language rules: `npm run language -- src/config`. */
import { CURES, findingsByKind, type Rule } from '../../test/rules/language.ts'

const prefixes = process.argv.slice(2)
const findings = Object.values(findingsByKind())
  .flat()
  .filter(({ name }) => prefixes.length === 0 || prefixes.some((prefix) => name.startsWith(prefix)))

for (const rule of Object.keys(CURES) as Rule[]) {
  const found = findings.filter((finding) => finding.rule === rule)
  process.stdout.write(`\n${rule}: ${found.length} (${CURES[rule]})\n`)
  for (const { name, line, text } of found) process.stdout.write(`  ${name}:${line} ${text}\n`)
}
