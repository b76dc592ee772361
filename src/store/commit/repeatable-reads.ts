/**
 * Reads each record that authorization depends on once per request, so that all rules see the same state. Later steps
 * go through `AuthorizedView`, which verifies that the state still holds.
 */
import type { MaybePromise } from '../../lib/maybe-promise.ts'
import type { Entry, KeyRange, Meta, Projection, Verification } from '../../meta/meta.ts'
import { RecordCache } from './record-cache.ts'

/** The last converted key of each kind, indexed by the kind's byte. */
const lastByKind: { readonly key: Buffer; readonly name: string }[] = Array.from({ length: 256 }, () => ({
  key: Buffer.alloc(0),
  name: '',
}))

/** A record key as a Map key. */
export function mapKeyOf(key: Buffer): string {
  const kind = key[0]!
  if (lastByKind[kind]!.key !== key) lastByKind[kind] = { key, name: key.toString('latin1') }
  return lastByKind[kind]!.name
}

export class RepeatableReads implements Meta {
  readonly #meta: Meta
  readonly #cache: RecordCache
  readonly #seen = new Map<string, Entry | undefined>()
  #remembers = true

  constructor(meta: Meta, cache: RecordCache = new RecordCache()) {
    this.#meta = meta
    this.#cache = cache
  }

  /** The record as read for authorization; undefined also if it was never read. */
  cached(name: string): Entry | undefined {
    return this.#seen.get(name)
  }

  /** Disables the cache from here on: records read one after the other may never have coexisted in that combination. */
  readFresh(): void {
    this.#remembers = false
  }

  get(key: Buffer): MaybePromise<Entry | undefined> {
    const name = mapKeyOf(key)
    const before = this.#seen.get(name)
    if (this.#remembers && (before !== undefined || this.#seen.has(name))) return before
    const known = this.#cache.get(name)
    const entry = this.#meta.get(key, known)
    return entry instanceof Promise
      ? entry.then(found => this.#remember(name, known, found))
      : this.#remember(name, known, entry)
  }

  #remember(name: string, known: Entry | undefined, entry: Entry | undefined): Entry | undefined {
    this.#seen.set(name, entry)
    if (entry !== undefined && entry !== known) this.#cache.set(name, entry)
    return entry
  }

  scan(range: KeyRange, limit: number, reverse?: boolean): Promise<readonly Entry[]> {
    return this.#meta.scan(range, limit, reverse)
  }

  scanMap<T>(range: KeyRange, limit: number, make: Projection<T>, verify?: Verification): Promise<readonly T[]> {
    return this.#meta.scanMap(range, limit, make, verify)
  }

  /** Authorization only reads. */
  commit(): never {
    throw new Error('authorization must not write')
  }

  close(): Promise<void> {
    return this.#meta.close()
  }
}
