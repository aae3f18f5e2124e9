/**
 * Ends a test run with the line `N passed, N failed, N skipped`. Tests that did not end and errors outside of a test
 * count as failed, and are listed before that line.
 */
import type { Reporter, SerializedError, TestCase, TestModule, Vitest } from 'vitest/node'

export default class CountReporter implements Reporter {
  /** `long` or `!long` if only these tests are chosen. */
  #filter: string | undefined

  onInit(vitest: Vitest): void {
    this.#filter = vitest.config.tagsFilter?.[0]
  }

  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly SerializedError[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()]).filter((test) => this.#isChosen(test))
    const inState = (state: string) => tests.filter((test) => test.result().state === state)
    const brokenFiles = modules.filter((module) => module.errors().length > 0).length
    // The process of a file can end before its tests.
    const unended = inState('pending')
    for (const { module, fullName } of unended) {
      console.log(
        ` FAIL  ${module.relativeModuleId} > ${fullName}\nThis test did not end. Its process may have crashed.`,
      )
    }
    for (const error of unhandledErrors) console.log(` FAIL  outside of a test\n${inWords(error)}`)
    const failed = inState('failed').length + brokenFiles + unended.length + unhandledErrors.length
    console.log(`${inState('passed').length} passed, ${failed} failed, ${inState('skipped').length} skipped`)
  }

  /** The runner reports tests as skipped if a filter leaves them out. */
  #isChosen({ tags }: TestCase): boolean {
    return this.#filter === undefined || tags.includes('long') === (this.#filter === 'long')
  }
}

/** Returns the message of an error and of its causes, a line each. */
function inWords({ name, message, cause }: SerializedError): string {
  const own = `${name ?? 'Error'}: ${message}`
  return cause === undefined ? own : `${own}\n${inWords(cause)}`
}
