/** Stores whether this process owns the warehouse. The console and `/readyz` use this information. */
import type { ConsoleBackend } from '../console/backend.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'

export class WarehouseOwnership {
  backend: ConsoleBackend | undefined
  /** False until this process knows whether it or another process owns the warehouse. */
  isDecided = false
  #warehouse: Pick<Warehouse, 'checkFile'> | undefined

  own(backend: ConsoleBackend, warehouse: Pick<Warehouse, 'checkFile'>): void {
    this.backend = backend
    this.#warehouse = warehouse
    this.isDecided = true
  }

  standBy(): void {
    this.isDecided = true
  }

  leave(): void {
    if (this.backend !== undefined) this.isDecided = false
    this.backend = undefined
    this.#warehouse = undefined
  }

  /** Rejects if this process owns the warehouse, and the warehouse's file was lost or is damaged. */
  async check(): Promise<void> {
    await this.#warehouse?.checkFile()
  }
}
