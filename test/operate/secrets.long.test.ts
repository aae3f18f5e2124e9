/**
 * No secret leaves its place where the queue is embedded.
 * @module-tag long
 */
import { it } from 'vitest'
import { searchSecrets } from './secretSearch.ts'

it(
  'secrets, with a worker on the embedded queue, are in no output, file, store, table, span, page or metric after everything was run at trace',
  { timeout: 400_000 },
  () => searchSecrets('embedded'),
)
