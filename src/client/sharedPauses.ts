/** Where several processes tell each other that the service asked for a pause (429, Retry-After). */
export interface SharedPauses {
  /** Everybody waits for so long from now, unless they wait longer already. */
  pause(ms: number): Promise<void>
  /** What is left of a pause that anybody asked for; 0 without one. */
  remainingMs(): Promise<number>
}
