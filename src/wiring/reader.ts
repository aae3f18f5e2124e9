/** Opens the reader of the published copy, or of the lake, with the limits of the configuration. */
import type { Config } from '../config/config.ts'
import { openReader, type Reader } from '../reader/reader.ts'

/** Returns a reader for SQL statements of users. The reader opens nothing before its first statement. */
export const readerOf = ({ published, lake, limits }: Config): Reader =>
  openReader({
    published,
    lake,
    memory: limits.queryMemory,
    disk: limits.queryDisk,
    timeMs: limits.queryTimeMs,
    threads: limits.warehouseThreads,
  })
