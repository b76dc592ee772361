/**
 * Permission is judged before the effect, and a body may take long in between. Behind this, a request finds only what
 * it was judged on: a bucket that was removed and made again by somebody else is not there, and an object that got
 * another owner, other grants or other tags is not touched. Whoever meets that is judged anew, or told to come again.
 */
import type { Entry, KeyRange, Meta, Minitransaction } from '../meta/meta.ts'
import { type Bucket, bucketFormat } from '../model/bucket.ts'
import type { Grant, Pairs } from '../model/version.ts'
import { versionFormat } from '../model/version.ts'
import { at } from './addresses.ts'

/** An object is not as it was when the permission was judged. */
export class FactsChanged extends Error {
  constructor() {
    super('what the permission was judged on has changed')
    this.name = 'FactsChanged'
  }
}

/** What a decision about an object depends on. */
export interface JudgedObject {
  readonly owner: string
  readonly grants: readonly Grant[]
  readonly tags: Pairs
}

const ABSENT = ''
const textOf = (object: JudgedObject | undefined): string =>
  object === undefined ? ABSENT : JSON.stringify([object.owner, object.grants, object.tags])

const nameOf = (address: Buffer): string => address.toString('latin1')

export class JudgedMeta implements Meta {
  readonly #meta: Meta
  readonly #buckets = new Map<string, string>()
  readonly #objects = new Map<string, string>()

  constructor(meta: Meta) {
    this.#meta = meta
  }

  /** From here on this bucket, or none of its name. */
  expectBucket({ name, id }: Bucket): void {
    this.#buckets.set(nameOf(at.bucket(name)), id)
  }

  /** From here on the current version of this key as it is now, or that there is none. */
  expectObject(bucket: string, key: string, object: JudgedObject | undefined): void {
    const name = nameOf(at.current(bucket, key))
    const before = this.#objects.get(name)
    const text = textOf(object)
    if (before !== undefined && before !== text) throw new FactsChanged()
    this.#objects.set(name, text)
  }

  async get(key: Buffer): Promise<Entry | undefined> {
    const entry = await this.#meta.get(key)
    const name = nameOf(key)
    const bucket = this.#buckets.get(name)
    if (bucket !== undefined) {
      return entry !== undefined && bucketFormat.decode(entry.value).id === bucket ? entry : undefined
    }
    const object = this.#objects.get(name)
    if (object !== undefined && object !== this.#textOf(entry)) throw new FactsChanged()
    return entry
  }

  #textOf(entry: Entry | undefined): string {
    if (entry === undefined) return ABSENT
    const { owner, attributes } = versionFormat.decode(entry.value)
    return textOf({ owner, grants: attributes.grants, tags: attributes.tags })
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
