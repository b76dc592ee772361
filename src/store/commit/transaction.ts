/**
 * The read–decide–commit loop, the only way anything is changed. An attempt reads through its decision, which remembers
 * what it saw, and says what to write; the commit holds only if nothing it saw has changed. Otherwise it starts over.
 */
import type { Clock } from '../../lib/clock.ts'
import type { MaybePromise } from '../../lib/maybe-promise.ts'
import type { Random } from '../../lib/random.ts'
import { type Check, type Entry, type Meta, MetaFull, type Write } from '../../meta/meta.ts'
import { Fault } from '../../model/faults.ts'
import { noUsage, USAGE_FIELDS, type UsageDelta } from '../../model/usage.ts'
import type { BucketDelta, UsageCounters } from '../usage/usage-counters.ts'

const ATTEMPTS_MAX = 200
const BACKOFF_MS_MAX = 50

export class Transaction {
  readonly #meta: Meta
  readonly checks: Check[] = []
  readonly writes: Write[] = []
  /** The change to the usage of its bucket; no transaction changes two. */
  usage: BucketDelta | undefined

  constructor(meta: Meta) {
    this.#meta = meta
  }

  /** Reads a record that the decision depends on: the commit fails if it changes before. */
  get(key: Buffer): MaybePromise<Entry | undefined> {
    const found = this.#meta.get(key)
    return found instanceof Promise ? found.then(entry => this.#saw(key, entry)) : this.#saw(key, found)
  }

  #saw(key: Buffer, entry: Entry | undefined): Entry | undefined {
    this.checks.push({ key, stamp: entry?.stamp })
    return entry
  }

  /** The decision depends on a record that was read in another way, by a scan for example. */
  relyOn(entry: Entry): void {
    this.checks.push({ key: entry.key, stamp: entry.stamp })
  }

  /** True when everything that was read is still so: then there was a moment at which all of it was. */
  async validate(): Promise<boolean> {
    if (this.checks.length < 2) return true
    for (const { key, stamp } of this.checks) if ((await this.#meta.get(key))?.stamp !== stamp) return false
    return true
  }

  put(key: Buffer, value: Buffer): void {
    this.#write({ key, value })
  }

  remove(key: Buffer): void {
    this.#write({ key, value: undefined })
  }

  /** Takes over what another attempt saw and wants to write, so that both are committed or neither. */
  join(other: Transaction): void {
    this.checks.push(...other.checks)
    for (const write of other.writes) this.#write(write)
    if (other.usage === undefined) return
    const own = this.usageOf(other.usage.bucketId)
    for (const field of USAGE_FIELDS) own[field] += other.usage[field]
  }

  /** To be added to: the commit counts it. */
  usageOf(bucketId: string): UsageDelta {
    this.usage ??= { bucketId, ...noUsage() }
    if (this.usage.bucketId !== bucketId) throw new Error('a decision changes the usage of one bucket')
    return this.usage
  }

  #write(write: Write): void {
    const same = this.writes.findIndex(other => other.key.equals(write.key))
    if (same < 0) this.writes.push(write)
    else this.writes[same] = write
  }
}

export interface TransactionContext {
  readonly meta: Meta
  readonly clock: Clock
  readonly random: Random
  /** Missing where nothing is decided about versions and uploads. */
  readonly usage?: UsageCounters
}

export async function transact<T>(context: TransactionContext, attempt: (tx: Transaction) => Promise<T>): Promise<T> {
  for (let tries = 1; tries <= ATTEMPTS_MAX; tries++) {
    const decision = new Transaction(context.meta)
    try {
      const result = await attempt(decision)
      const nothing = decision.writes.length === 0
      if (nothing ? await decision.validate() : await commit(context, decision)) return result
    } catch (error) {
      // Records are read one by one while others move them: a refusal must not rest on what never was at one time.
      if (!(error instanceof Fault) || (await decision.validate())) throw error
    }
    // The first conflicts are retried at once: whoever won has finished. Jitter keeps later ones apart.
    if (tries > 3) await context.clock.sleep(Math.ceil(context.random.fraction() * Math.min(BACKOFF_MS_MAX, tries)))
  }
  throw new Fault('OperationAborted')
}

export async function commit(context: TransactionContext, decision: Transaction): Promise<boolean> {
  try {
    const { usage: delta } = decision
    return await (delta === undefined ? context.meta.commit(decision) : commitCounted(context, decision, delta))
  } catch (error) {
    if (error instanceof MetaFull) throw new Fault('InsufficientStorage')
    throw error
  }
}

/** The counters change in the same commit, or not at all. */
async function commitCounted(
  { usage, meta }: TransactionContext,
  decision: Transaction,
  delta: BucketDelta,
): Promise<boolean> {
  if (usage === undefined) throw new Error('a decision about versions must be counted')
  const begun = usage.begin(meta, delta)
  const slot = begun instanceof Promise ? await begun : begun
  if (slot === undefined) return meta.commit(decision)
  decision.writes.push(slot.write)
  try {
    const isTaken = await meta.commit(decision)
    usage.settle(slot, delta, isTaken)
    return isTaken
  } catch (error) {
    // After any failure but this one nobody knows what the record says: the slot is never used again by this process,
    // and whichever sum the record has is the right one.
    if (error instanceof MetaFull) usage.settle(slot, delta, false)
    throw error
  }
}
