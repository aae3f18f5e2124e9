/** What the owner opens once for all of its runs; each run adds its own signal, progress and fence. */
import type { Rooms } from '../../src/sync/rooms.ts'

export type OwnerRooms = Omit<Rooms, 'signal' | 'onProgress' | 'onOutcome' | 'fence'>
