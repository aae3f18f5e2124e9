/**
 * `npm run test:kubernetes`: validates the manifests of ops/kubernetes against the schemas of several versions of
 * Kubernetes, strictly: an unknown field fails. Needs Python and a package index, and prints the reason without them.
 */
import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { parse } from 'yaml'
import { aPython } from '../dbt/python.ts'
import { ROOT } from '../rules/source.ts'

const FOLDER = path.join(ROOT, 'ops/kubernetes')
/** The oldest version that the project supports, and the newest one whose schemas the package has. */
const VERSIONS = ['1.30', '1.37']

const { resources } = parse(await readFile(path.join(FOLDER, 'kustomization.yaml'), 'utf8')) as { resources: string[] }
const others = (await readdir(FOLDER)).filter((name) => !['kustomization.yaml', 'settings.yaml'].includes(name))
if (others.toSorted().join() !== resources.toSorted().join()) throw new TypeError('the kustomization lacks a file')

const python = await aPython(path.join(import.meta.dirname, 'requirements.txt'))
if (typeof python === 'string') throw new TypeError(`the manifests were not validated: ${python}`)
for (const version of VERSIONS) {
  const files = resources.map((name) => path.join(FOLDER, name))
  const validate = path.join(python.bin, 'kubernetes-validate')
  try {
    await promisify(execFile)(validate, ['--strict', '-k', version, ...files])
    console.log(`passed: ${resources.length} files are valid in Kubernetes ${version}`)
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string }
    console.log(`failed: Kubernetes ${version}\n${stdout}${stderr}`)
    process.exitCode = 1
  }
}
