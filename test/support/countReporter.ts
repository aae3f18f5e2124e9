/** Ends a test run with the line `N passed, N failed, N skipped`. */
import type { Reporter, TestCase, TestModule, Vitest } from 'vitest/node'

export default class CountReporter implements Reporter {
  /** `long` or `!long` if only these tests are chosen. */
  #filter: string | undefined

  onInit(vitest: Vitest): void {
    this.#filter = vitest.config.tagsFilter?.[0]
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()]).filter((test) => this.#isChosen(test))
    const states = tests.map((test) => test.result().state)
    const brokenFiles = modules.filter((module) => module.errors().length > 0).length
    const count = (state: string) => states.filter((each) => each === state).length
    console.log(`${count('passed')} passed, ${count('failed') + brokenFiles} failed, ${count('skipped')} skipped`)
  }

  /** The runner reports tests as skipped if a filter leaves them out. */
  #isChosen({ tags }: TestCase): boolean {
    return this.#filter === undefined || tags.includes('long') === (this.#filter === 'long')
  }
}
