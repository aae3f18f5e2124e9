/** Whether this process owns the warehouse. The console takes its backend from here, and `/readyz` uses `isDecided`. */
import type { ConsoleBackend } from '../console/backend.ts'

export class WarehouseOwnership {
  /** The owner's backend for the console; undefined if this process is not the owner. */
  backend: ConsoleBackend | undefined
  /** Whether this process owns the warehouse, or has found that another process does. */
  isDecided = false

  own(backend: ConsoleBackend): void {
    this.backend = backend
    this.isDecided = true
  }

  standBy(): void {
    this.isDecided = true
  }

  /** Records that this process no longer owns the warehouse. Does nothing if it never did. */
  leave(): void {
    if (this.backend !== undefined) this.isDecided = false
    this.backend = undefined
  }
}
