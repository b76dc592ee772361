/**
 * What permission is judged on, read once for each request: however many rules ask for a record, all of them see the
 * same one. Whatever is done afterwards goes through `JudgedMeta`, which looks whether it still is.
 */
import type { MaybePromise } from '../../lib/maybe-promise.ts'
import type { Entry, KeyRange, Meta, Projection, Verification } from '../../meta/meta.ts'
import { RecordCache } from './record-cache.ts'

/** The last of each kind, by the byte that says which. */
const lately: { readonly address: Buffer; readonly name: string }[] = Array.from({ length: 256 }, () => ({
  address: Buffer.alloc(0),
  name: '',
}))

/** An address as the key of a map. */
export function mapKeyOf(address: Buffer): string {
  const kind = address[0]!
  if (lately[kind]!.address !== address) lately[kind] = { address, name: address.toString('latin1') }
  return lately[kind]!.name
}

export class RepeatableReads implements Meta {
  readonly #meta: Meta
  readonly #lately: RecordCache
  readonly #seen = new Map<string, Entry | undefined>()
  #remembers = true

  constructor(meta: Meta, lately: RecordCache = new RecordCache()) {
    this.#meta = meta
    this.#lately = lately
  }

  /** The record as it was judged; undefined also when it was never looked at. */
  cached(name: string): Entry | undefined {
    return this.#seen.get(name)
  }

  /**
   * From here on everything is read again: records that were read one after the other may never have been like that at
   * one time.
   */
  readFresh(): void {
    this.#remembers = false
  }

  get(key: Buffer): MaybePromise<Entry | undefined> {
    const name = mapKeyOf(key)
    const before = this.#seen.get(name)
    if (this.#remembers && (before !== undefined || this.#seen.has(name))) return before
    const known = this.#lately.get(name)
    const entry = this.#meta.get(key, known)
    return entry instanceof Promise
      ? entry.then(found => this.#remember(name, known, found))
      : this.#remember(name, known, entry)
  }

  #remember(name: string, known: Entry | undefined, entry: Entry | undefined): Entry | undefined {
    this.#seen.set(name, entry)
    if (entry !== undefined && entry !== known) this.#lately.set(name, entry)
    return entry
  }

  scan(range: KeyRange, limit: number, reverse?: boolean): Promise<readonly Entry[]> {
    return this.#meta.scan(range, limit, reverse)
  }

  scanMap<T>(range: KeyRange, limit: number, make: Projection<T>, verify?: Verification): Promise<readonly T[]> {
    return this.#meta.scanMap(range, limit, make, verify)
  }

  /** Looking changes nothing. */
  commit(): never {
    throw new Error('facts are only looked at')
  }

  close(): Promise<void> {
    return this.#meta.close()
  }
}
