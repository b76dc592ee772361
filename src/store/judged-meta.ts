/**
 * Permission is judged before the effect, and a body may take long in between. Behind this, a request finds only what
 * it was judged on: a bucket that was removed and made again by somebody else is not there, and an object that got
 * another owner, other grants or other tags is not touched. Whoever meets that is judged anew, or told to come again.
 */
import type { Entry, KeyRange, Meta, Minitransaction } from '../meta/meta.ts'
import { at } from './addresses.ts'
import { type FactsMeta, nameOf } from './facts-meta.ts'
import { bucketIn, versionIn } from './reading.ts'

/** An object is not as it was when the permission was judged. */
export class FactsChanged extends Error {
  constructor() {
    super('what the permission was judged on has changed')
    this.name = 'FactsChanged'
  }
}

/** What a decision about an object depends on. */
const dependsOn = (entry: Entry | undefined): string => {
  if (entry === undefined) return ''
  const { owner, attributes } = versionIn(entry)
  return JSON.stringify([owner, attributes.grants, attributes.tags])
}

export class JudgedMeta implements Meta {
  readonly #meta: Meta
  readonly #facts: FactsMeta
  /** The ids that were judged; undefined where there was no bucket. */
  readonly #buckets = new Map<string, string | undefined>()
  readonly #objects = new Set<string>()

  constructor(meta: Meta, facts: FactsMeta) {
    this.#meta = meta
    this.#facts = facts
  }

  /** From here on the bucket that was judged first, or none of its name. */
  expectBucket(name: string, id: string | undefined): void {
    const address = nameOf(at.bucket(name))
    if (!this.#buckets.has(address)) this.#buckets.set(address, id)
  }

  /** From here on the current version of this key as it was judged, or that there is none. */
  expectObject(bucket: string, key: string): void {
    this.#objects.add(nameOf(at.current(bucket, key)))
  }

  async get(key: Buffer): Promise<Entry | undefined> {
    const name = nameOf(key)
    const judged = this.#facts.seen(name)
    const entry = await this.#meta.get(key, judged)
    // The usual case. What was made of the record when it was judged need not be made again.
    const isSame = entry !== undefined && entry.stamp === judged?.stamp
    const found = isSame ? judged : entry
    if (this.#buckets.has(name)) {
      return found !== undefined && bucketIn(found).id === this.#buckets.get(name) ? found : undefined
    }
    if (!isSame && this.#objects.has(name) && dependsOn(entry) !== dependsOn(judged)) throw new FactsChanged()
    return found
  }

  scan(range: KeyRange, limit: number, reverse?: boolean): Promise<readonly Entry[]> {
    return this.#meta.scan(range, limit, reverse)
  }

  commit(tx: Minitransaction): Promise<boolean> {
    return this.#meta.commit(tx)
  }

  close(): Promise<void> {
    return this.#meta.close()
  }
}
