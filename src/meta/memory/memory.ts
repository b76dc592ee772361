/**
 * Metadata in the memory of this process, for tests and trials. Nothing is durable. A commit runs synchronously, so it
 * is atomic and serial by construction. Values are copied in and out, so callers never share buffers.
 */
import { checkCommitLimits, checkKeyLimits, keyText } from '../commit-limits.ts'
import {
  type Check,
  type Entry,
  type EntryPair,
  type KeyedRead,
  type KeyRange,
  type MetaEngine,
  type Minitransaction,
  type Projection,
  type Snapshot,
  type Stamp,
  scanMapAll,
} from '../meta.ts'
import { SortedKeys } from './sorted-keys.ts'

interface Stored {
  readonly value: Buffer
  readonly stamp: Stamp
}

class MemoryMeta implements MetaEngine {
  readonly #records = new Map<string, Stored>()
  readonly #order = new SortedKeys()
  #lastStamp = 0
  #open = true

  #assertOpen(): void {
    if (!this.#open) throw new Error('the metadata engine is closed')
  }

  get(key: Buffer, known?: Entry): Entry | undefined {
    this.#assertOpen()
    checkKeyLimits(key)
    return this.#entry(keyText(key), known)
  }

  getBoth(first: KeyedRead, second: KeyedRead): EntryPair {
    return [this.get(first.key, first.known), this.get(second.key, second.known)]
  }

  #entry(text: string, known?: Entry): Entry | undefined {
    const stored = this.#records.get(text)
    if (stored === undefined) return undefined
    if (known?.stamp === stored.stamp) return known
    return { key: Buffer.from(text, 'latin1'), value: Buffer.from(stored.value), stamp: stored.stamp }
  }

  async scan(range: KeyRange, limit: number, reverse = false): Promise<readonly Entry[]> {
    this.#assertOpen()
    const start = keyText(range.start)
    const end = range.end === undefined ? undefined : keyText(range.end)
    const found: Entry[] = []
    if (limit <= 0) return found
    for (const text of reverse ? this.#order.down(end) : this.#order.up(start)) {
      if (reverse ? text < start : end !== undefined && text >= end) break
      found.push(this.#entry(text)!)
      if (found.length >= limit) break
    }
    return found
  }

  async scanMap<T>(range: KeyRange, limit: number, make: Projection<T>): Promise<readonly T[]> {
    return scanMapAll(await this.scan(range, limit), make)
  }

  async commit(tx: Minitransaction): Promise<boolean> {
    this.#assertOpen()
    checkCommitLimits(tx)
    const holds = ({ key, stamp }: Check): boolean => this.#records.get(keyText(key))?.stamp === stamp
    if (!tx.checks.every(holds)) return false
    for (const { key, value } of tx.writes) {
      const text = keyText(key)
      if (value === undefined) {
        if (this.#records.delete(text)) this.#order.remove(text)
        continue
      }
      if (!this.#records.has(text)) this.#order.add(text)
      this.#records.set(text, { value: Buffer.from(value), stamp: ++this.#lastStamp })
    }
    return true
  }

  async snapshot(): Promise<Snapshot> {
    const copy = new MemoryMeta()
    for (const [text, stored] of this.#records) {
      copy.#order.add(text)
      copy.#records.set(text, stored)
    }
    return { scan: (range, limit) => copy.scan(range, limit), end: () => copy.close() }
  }

  async close(): Promise<void> {
    this.#open = false
  }
}

export async function openMemoryMeta(): Promise<MetaEngine> {
  return new MemoryMeta()
}
