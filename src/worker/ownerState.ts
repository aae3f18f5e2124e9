/** Stores whether this process owns the warehouse, for the console and for `/readyz`. */
import type { ConsoleBackend } from '../console/backend.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'

export class WarehouseOwnership {
  backend: ConsoleBackend | undefined
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

  /** Rejects if this process owns the warehouse and its file was lost or is damaged. */
  async check(): Promise<void> {
    await this.#warehouse?.checkFile()
  }
}
