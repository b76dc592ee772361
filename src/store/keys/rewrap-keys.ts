/**
 * After a rotation, rewraps content keys under the newest key version in the records of versions and uploads. Nothing
 * else in a record changes, locked or not: no bytes, tag, lock or time. Runs in batches; an interrupted run starts over
 * and skips records that are already current.
 */
import { KeyDisabled, KeyUnknown } from '../../crypto/keyring.ts'
import { keySuccessor } from '../../lib/bytes.ts'
import { type Entry, META_LIMITS } from '../../meta/meta.ts'
import { Fault } from '../../model/faults.ts'
import { STORE_LEDGER } from '../../model/ledger.ts'
import { uploadFormat } from '../../model/upload.ts'
import type { Encryption } from '../../model/version.ts'
import { versionFormat } from '../../model/version-record.ts'
import { keyRanges } from '../commit/record-keys.ts'
import { transact } from '../commit/transaction.ts'
import type { StoreContext } from '../store-context.ts'
import { keyUseOf } from './content-keys.ts'

const PAGE = 500
/** A step takes at most this long plus one page. */
const STEP_MS = 1_000
/** Records per commit: few, so that conflicts are rare. */
const RECORDS_PER_COMMIT = 16
const COMMIT_BYTES_MAX = META_LIMITS.commitBytesMax / 2
/** Current versions first, since they may become older ones meanwhile. */
const KINDS = ['o', 'v', 'u']

export interface RewrapProgress {
  /** Records scanned. */
  readonly looked: number
  readonly rewrapped: number
  /** Records under a disabled or unknown key, which are left as they are. */
  readonly left: number
  /** Start of the next step; undefined at the end. */
  readonly next: Buffer | undefined
}

const isUpload = (key: Buffer): boolean => key[0] === 'u'.charCodeAt(0)

/** The encryption of a record, and a function that encodes the record with another one. */
function decodeSealed({ key, value }: Entry): [Encryption | undefined, (encryption: Encryption) => Buffer] {
  if (isUpload(key)) {
    const upload = uploadFormat.decode(value)
    return [upload.encryption, encryption => uploadFormat.encode({ ...upload, encryption })]
  }
  const version = versionFormat.decode(value)
  return [version.encryption, encryption => versionFormat.encode({ ...version, encryption }, key)]
}

const isOutdated = (context: StoreContext, encryption: Encryption | undefined): encryption is Encryption =>
  encryption !== undefined && !context.keyring.isCurrent(encryption.wrappedKey, encryption.keyName)

/** The same key, wrapped again; undefined when its wrapping key is disabled or unknown. */
async function rewrapEncryption(context: StoreContext, encryption: Encryption): Promise<Encryption | undefined> {
  const use = keyUseOf(encryption, undefined)
  try {
    const wrappedKey = await context.keyring.upToDate(() => context.keyring.rewrap(encryption.wrappedKey, use, use))
    return { ...encryption, wrappedKey }
  } catch (error) {
    if (error instanceof KeyDisabled || error instanceof KeyUnknown) return undefined
    throw error
  }
}

/** Rewraps those of these records that are still outdated. */
async function rewrapThese(
  context: StoreContext,
  keys: readonly Buffer[],
): Promise<Pick<RewrapProgress, 'rewrapped' | 'left'>> {
  return transact(context, async tx => {
    const done = { rewrapped: 0, left: 0 }
    for (const key of keys) {
      const entry = await tx.get(key)
      if (entry === undefined) continue
      const [encryption, encode] = decodeSealed(entry)
      if (!isOutdated(context, encryption)) continue
      const rewrapped = await rewrapEncryption(context, encryption)
      if (rewrapped === undefined) done.left++
      else {
        tx.put(key, encode(rewrapped))
        done.rewrapped++
      }
    }
    return done
  })
}

/** Record keys in groups that fit one commit. */
function* commitGroups(entries: readonly Entry[]): Generator<Buffer[]> {
  let group: Buffer[] = []
  let bytes = 0
  for (const { key, value } of entries) {
    if (group.length === RECORDS_PER_COMMIT || bytes + value.length > COMMIT_BYTES_MAX) {
      yield group
      group = []
      bytes = 0
    }
    group.push(key)
    bytes += value.length
  }
  if (group.length > 0) yield group
}

/** The remaining kinds of records, each with its start. */
function* rangesFrom(from: Buffer | undefined): Generator<{ start: Buffer; end: Buffer | undefined }> {
  const first = from === undefined ? 0 : KINDS.indexOf(String.fromCharCode(from[0] ?? 0))
  if (first < 0)
    throw new Fault('InvalidArgument', {
      ArgumentName: 'from',
      reason: 'from must be the position that the previous step returned',
    })
  for (const kind of KINDS.slice(first)) {
    const { start, end } = keyRanges.kind(kind)
    yield { start: from !== undefined && kind === KINDS[first] ? from : start, end }
  }
}

/** Runs one step. The first step of a run records it in the ledger before any change. */
export async function rewrapBatch(context: StoreContext, from?: Buffer): Promise<RewrapProgress> {
  const { clock, keyring, ledgerCommits } = context
  if (from === undefined) {
    const { service, named } = keyring.versions
    await ledgerCommits.transact(context, STORE_LEDGER, async (_d, note) =>
      note({ what: 'keys rewrapped', service, named }),
    )
  }
  const endsAt = clock.elapsed() + STEP_MS
  const sum = { looked: 0, rewrapped: 0, left: 0 }
  let pages = 0
  for (const { start, end } of rangesFrom(from)) {
    for (let at = start; ; ) {
      if (pages++ > 0 && clock.elapsed() >= endsAt) return { ...sum, next: at }
      const page = await context.meta.scan({ start: at, end }, PAGE)
      for (const keys of commitGroups(page.filter(entry => isOutdated(context, decodeSealed(entry)[0])))) {
        const { rewrapped, left } = await rewrapThese(context, keys)
        sum.rewrapped += rewrapped
        sum.left += left
      }
      sum.looked += page.length
      if (page.length < PAGE) break
      at = keySuccessor(page.at(-1)!.key)
      // Yields to requests between pages.
      await clock.sleep(0)
    }
  }
  return { ...sum, next: undefined }
}
