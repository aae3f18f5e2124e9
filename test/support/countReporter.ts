/**
 * Ends a test run with the plain line `N passed, N failed, N skipped`, which needs no knowledge of the runner to read.
 */
import type { Reporter, TestModule } from 'vitest/node'

export default class CountReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const states = modules.flatMap((module) => [...module.children.allTests()].map((test) => test.result().state))
    const brokenFiles = modules.filter((module) => module.errors().length > 0).length
    const count = (state: string) => states.filter((each) => each === state).length
    console.log(`${count('passed')} passed, ${count('failed') + brokenFiles} failed, ${count('skipped')} skipped`)
  }
}
