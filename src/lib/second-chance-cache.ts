/**
 * Keeps values that were asked for more than once, within a bound of bytes: most are asked for once. Evicted first in,
 * first out, with a second chance for those that were used since.
 */
import { RecentMarks } from './recent-marks.ts'

interface Kept<T> {
  value: T
  bytes: number
  wasUsed: boolean
}

/** Values that were offered once and are told apart. */
const RECENT_OFFERS = 4096
/**
 * A full cache takes one in this many: values that are asked for again and again but do not all fit would otherwise
 * displace each other, at the cost of a copy for every request.
 */
const TAKEN_WHEN_FULL = 16

export class SecondChanceCache<T, Name = string> {
  readonly #bytesMax: number
  readonly #kept = new Map<Name, Kept<T>>()
  readonly #recent = new RecentMarks(RECENT_OFFERS)
  #bytes = 0
  /** Those offered to a full cache. */
  #excess = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  get(name: Name): T | undefined {
    const found = this.#kept.get(name)
    if (found === undefined) return undefined
    found.wasUsed = true
    return found.value
  }

  /** Whether a value that was just needed should be kept: one that was needed lately, as its mark tells, and fits. */
  isWanted(name: Name, mark: number, bytes: number): boolean {
    if (bytes > this.#bytesMax) return false
    const kept = this.#kept.get(name)
    if (kept === undefined && this.#recent.isNew(mark)) return false
    const grown = this.#bytes + bytes - (kept?.bytes ?? 0)
    return grown <= this.#bytesMax || ++this.#excess % TAKEN_WHEN_FULL === 0
  }

  /** Replaces the value of the same name. */
  set(name: Name, value: T, bytes: number): void {
    const kept = this.#kept.get(name)
    this.#bytes += bytes - (kept?.bytes ?? 0)
    if (kept === undefined) this.#kept.set(name, { value, bytes, wasUsed: false })
    else Object.assign(kept, { value, bytes })
    this.#evict()
  }

  #evict(): void {
    for (const [name, oldest] of this.#kept) {
      if (this.#bytes <= this.#bytesMax) return
      this.#kept.delete(name)
      if (oldest.wasUsed) {
        oldest.wasUsed = false
        this.#kept.set(name, oldest)
      } else {
        this.#bytes -= oldest.bytes
      }
    }
  }
}
