/** Reads a bucket's ledger: for exports, verification and hold lookups. */
import { readUint64 } from '../../lib/keys.ts'
import type { Entry } from '../../meta/meta.ts'
import { bucketFormat } from '../../model/bucket.ts'
import { Fault } from '../../model/faults.ts'
import {
  type Actor,
  isLockChange,
  type LedgerHead,
  type LedgerLock,
  type LedgerNote,
  type LockChange,
  ledgerEntryFormat,
  ledgerHeadFormat,
  STORE_LEDGER,
  type VersionRef,
} from '../../model/ledger.ts'
import {
  checkpointText,
  closingLine,
  entryLine,
  genesisHash,
  headerLine,
  LedgerCheck,
  type LedgerExpectation,
  type LedgerVerdict,
} from '../../rules/ledger.ts'
import { isBucketName } from '../../rules/naming.ts'
import { keyRanges, recordKey } from '../commit/record-keys.ts'
import type { StoreContext } from '../store-context.ts'
import { ledgerName } from './ledger-append.ts'

const PAGE = 500

/** An entry as it was written. */
type LedgerEntry = LedgerNote & {
  readonly sequence: number
  readonly time: string
  readonly by: Actor
  readonly previous: string
}

/** The entry that made a lock what it is. */
export interface LockOrigin {
  readonly time: string
  readonly by: Actor
  readonly sequence: number
}

const originOf = ({ time, by, sequence }: LedgerEntry): LockOrigin => ({ time, by, sequence })

/** Each line is as in an export. */
export interface LedgerPage {
  readonly header: string
  readonly lines: readonly string[]
  readonly closing: string
  readonly entries: number
}

export class Ledger {
  readonly #context: StoreContext

  constructor(context: StoreContext) {
    this.#context = context
  }

  /** The public key that verifies this store's ledgers, in hexadecimal. Auditors obtain it once, out of band. */
  get publicKey(): string {
    return this.#context.keyring.signing.publicKey.toString('hex')
  }

  /**
   * The ledger as lines: a header, the entries, a signed closing line. An export that does not verify ends with an
   * error instead of a closing line.
   */
  async *export(bucket: string): AsyncGenerator<string> {
    const head = await this.#head(bucket)
    const check = new LedgerCheck({ publicKey: this.publicKey })
    for await (const line of this.#lines(bucket, head)) {
      check.take(line)
      yield line
    }
    const { problem } = await this.#verdict(bucket, head, check)
    if (problem !== undefined) throw new Error(`the ledger of ${bucket}, line ${problem.line}: ${problem.reason}`)
    const closing = { entries: head.entries, last: head.last, time: this.#context.clock.now() }
    yield closingLine(closing, this.#sign(bucket, closing))
  }

  /**
   * Verifies that the stored chain is complete, signed by this store, and extends an earlier export if one is given.
   */
  async verify(bucket: string, earlier?: LedgerExpectation['earlier']): Promise<LedgerVerdict> {
    const head = await this.#head(bucket)
    const check = new LedgerCheck({ publicKey: this.publicKey, ...(earlier === undefined ? {} : { earlier }) })
    for await (const line of this.#lines(bucket, head)) check.take(line)
    return this.#verdict(bucket, head, check)
  }

  /** A chain that verifies up to its head but has entries after it was given another head. */
  async #verdict(bucket: string, head: LedgerHead, check: LedgerCheck): Promise<LedgerVerdict> {
    check.take(closingLine(head, head.signature))
    const verdict = check.end()
    if (verdict.problem !== undefined) return verdict
    const reason = await this.#entriesAfterHead(bucket, head)
    return reason === undefined ? verdict : { ...verdict, problem: { line: head.entries + 2, reason } }
  }

  async #entriesAfterHead(bucket: string, { entries }: LedgerHead): Promise<string | undefined> {
    const { meta } = this.#context
    if (entries === 0) {
      const entry = await meta.get(recordKey.bucket(bucket))
      const isLocked = entry !== undefined && bucketFormat.decode(entry.value).lockEnabled
      // The entry that enables object lock is the first one, in the same commit.
      if (isLocked && (await this.#entriesOf(bucket)) === 0)
        return 'the bucket has object lock enabled, but its ledger is empty'
    }
    if ((await this.#entryTexts(bucket, entries, 1)).length === 0) return undefined
    // An entry may have been appended since the head was read.
    return (await this.#entriesOf(bucket)) === entries ? 'the ledger has entries after its signed head' : undefined
  }

  async #entriesOf(bucket: string): Promise<number> {
    const entry = await this.#context.meta.get(recordKey.ledgerHead(bucket))
    return entry === undefined ? 0 : ledgerHeadFormat.decode(entry.value).entries
  }

  /** Lines of an export in pieces: the header, entries after this sequence number, and the signed head. */
  async page(bucket: string, after: number, limit: number): Promise<LedgerPage> {
    const head = await this.#head(bucket)
    // Entries after the head were appended since it was read.
    const left = Math.min(limit, head.entries - after)
    const texts = left <= 0 ? [] : await this.#entryTexts(bucket, after, left)
    return {
      header: headerLine(ledgerName(this.#context, bucket), this.publicKey),
      lines: texts.map(entryLine),
      closing: closingLine(head, head.signature),
      entries: head.entries,
    }
  }

  /** Entries after this sequence number, in order. */
  async entries(bucket: string, after = 0, limit = PAGE): Promise<LedgerEntry[]> {
    return (await this.#entryTexts(bucket, after, limit)).map(text => JSON.parse(text) as LedgerEntry)
  }

  /** Lock changes of a version, newest first. */
  async *changesOf(bucket: string, { key, versionId }: VersionRef): AsyncGenerator<LedgerEntry & LockChange> {
    const { meta } = this.#context
    const { start, end: last } = keyRanges.ledgerIndex(bucket, key, versionId)
    for (let end = last; ; ) {
      const page = await meta.scan({ start, end }, PAGE, true)
      for (const { key: address } of page) {
        const entry = await meta.get(recordKey.ledgerEntry(bucket, readUint64(address, address.length - 8)))
        if (entry === undefined) continue
        const note = JSON.parse(ledgerEntryFormat.decode(entry.value)) as LedgerEntry
        // Older versions of the program indexed refusals too.
        if (isLockChange(note)) yield note
      }
      if (page.length < PAGE) return
      end = page.at(-1)!.key
    }
  }

  /** When and by whom a version was put on hold; undefined when it is not held. */
  async heldSince(bucket: string, version: VersionRef): Promise<LockOrigin | undefined> {
    for await (const entry of this.changesOf(bucket, version)) {
      if (entry.after.hold !== 'ON') return undefined
      if (isHeld(entry.before)) continue
      return originOf(entry)
    }
    return undefined
  }

  /** When and by whom the retention that ends then was set; none for the bucket's default, which has no entry. */
  async retainedSince(bucket: string, version: VersionRef, until: string): Promise<LockOrigin | undefined> {
    for await (const entry of this.changesOf(bucket, version)) {
      if (entry.after.retention?.until !== until) return undefined
      if (entry.before?.retention?.until !== until) return originOf(entry)
    }
    return undefined
  }

  /** Names of all buckets with entries, with or without a ledger head. */
  async *bucketsWithEntries(): AsyncGenerator<string> {
    const { start, end } = keyRanges.kind('l')
    for (let from: Buffer | undefined = start; from !== undefined; ) {
      const [entry]: readonly Entry[] = await this.#context.meta.scan({ start: from, end }, 1)
      if (entry === undefined) return
      const bucket = entry.key.toString('utf8', 1, entry.key.indexOf(0, 1))
      yield bucket
      from = keyRanges.ledgerEntries(bucket).end
    }
  }

  /** Names of all buckets that ever had a ledger, including removed ones. */
  async buckets(after = ''): Promise<string[]> {
    const { start, end } = keyRanges.ledgerHeads()
    const from = after === '' ? start : recordKey.ledgerHead(`${after}\u0001`)
    const found = await this.#context.meta.scan({ start: from, end }, PAGE)
    return found.map(({ key }) => key.toString('utf8', 1, key.length - 1))
  }

  async #head(bucket: string): Promise<LedgerHead> {
    const isStore = bucket === STORE_LEDGER
    // A name that no bucket can have is not a valid record key either.
    if (!isStore && !isBucketName(bucket)) throw new Fault('NoSuchBucket', { BucketName: bucket })
    const entry = await this.#context.meta.get(recordKey.ledgerHead(bucket))
    if (entry !== undefined) return ledgerHeadFormat.decode(entry.value)
    // Either an existing bucket without entries, or a ledger whose head is missing.
    const isThere = isStore || (await this.#context.meta.get(recordKey.bucket(bucket))) !== undefined
    if (!isThere && (await this.#entryTexts(bucket, 0, 1)).length === 0) {
      throw new Fault('NoSuchBucket', { BucketName: bucket })
    }
    const none = { entries: 0, last: genesisHash(ledgerName(this.#context, bucket)), time: this.#context.clock.now() }
    return { ...none, signature: this.#sign(bucket, none) }
  }

  #sign(bucket: string, end: Omit<LedgerHead, 'signature'>): Buffer {
    return this.#context.keyring.signing.sign(checkpointText(ledgerName(this.#context, bucket), end))
  }

  /** Header and entries up to the given head. */
  async *#lines(bucket: string, { entries }: LedgerHead): AsyncGenerator<string> {
    yield headerLine(ledgerName(this.#context, bucket), this.publicKey)
    for (let read = 0; read < entries; ) {
      const texts = await this.#entryTexts(bucket, read, Math.min(PAGE, entries - read))
      if (texts.length === 0) return
      for (const text of texts) yield entryLine(text)
      read += texts.length
      // Yields to requests between pages: an engine in memory answers without a turn of the event loop.
      await this.#context.clock.sleep(0)
    }
  }

  async #entryTexts(bucket: string, after: number, limit: number): Promise<string[]> {
    const range = {
      start: recordKey.ledgerEntry(bucket, after + 1),
      end: recordKey.ledgerEntry(bucket, Number.MAX_SAFE_INTEGER),
    }
    const found = await this.#context.meta.scan(range, limit)
    return found.map(({ value }) => ledgerEntryFormat.decode(value))
  }
}

const isHeld = (lock: LedgerLock | null): boolean => lock?.hold === 'ON'
