/**
 * After a rotation: content keys that an older key wraps are wrapped by the newest one, in the records of versions and
 * uploads. Nothing else of a record changes, locked or not: no byte, no tag, no lock, no time. Some at a time; whoever
 * breaks off begins anew, and what is done already costs a look.
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
/** One step takes no longer than that, and a page. */
const STEP_MS = 1_000
/** Records that are changed in one commit: few, so that others hardly ever are in the way of it. */
const TOGETHER_MAX = 16
const TOGETHER_BYTES_MAX = META_LIMITS.commitBytesMax / 2
/** Current versions first, which may become older ones meanwhile. */
const KINDS = ['o', 'v', 'u']

export interface RewrapProgress {
  /** Records that were looked at. */
  readonly looked: number
  readonly rewrapped: number
  /** Under a key that is disabled, or that nobody has made: they stay as they are. */
  readonly left: number
  /** Where the next step begins; undefined at the end. */
  readonly next: Buffer | undefined
}

const isUpload = (key: Buffer): boolean => key[0] === 'u'.charCodeAt(0)

/** How the record's content is sealed, and the record with another wrapping of the same key. */
function opened({ key, value }: Entry): [Encryption | undefined, (encryption: Encryption) => Buffer] {
  if (isUpload(key)) {
    const upload = uploadFormat.decode(value)
    return [upload.encryption, encryption => uploadFormat.encode({ ...upload, encryption })]
  }
  const version = versionFormat.decode(value)
  return [version.encryption, encryption => versionFormat.encode({ ...version, encryption }, key)]
}

const isOutdated = (context: StoreContext, encryption: Encryption | undefined): encryption is Encryption =>
  encryption !== undefined && !context.keyring.isCurrent(encryption.wrappedKey, encryption.keyName)

/** The same key, wrapped anew; undefined where that may not be. */
async function wrappedAnew(context: StoreContext, encryption: Encryption): Promise<Encryption | undefined> {
  const use = keyUseOf(encryption, undefined)
  try {
    const wrappedKey = await context.keyring.upToDate(() => context.keyring.rewrap(encryption.wrappedKey, use, use))
    return { ...encryption, wrappedKey }
  } catch (error) {
    if (error instanceof KeyDisabled || error instanceof KeyUnknown) return undefined
    throw error
  }
}

/** Those of these records that are still as they were found. */
async function rewrapThese(
  context: StoreContext,
  keys: readonly Buffer[],
): Promise<Pick<RewrapProgress, 'rewrapped' | 'left'>> {
  return transact(context, async tx => {
    const done = { rewrapped: 0, left: 0 }
    for (const key of keys) {
      const entry = await tx.get(key)
      if (entry === undefined) continue
      const [encryption, encode] = opened(entry)
      if (!isOutdated(context, encryption)) continue
      const anew = await wrappedAnew(context, encryption)
      if (anew === undefined) done.left++
      else {
        tx.put(key, encode(anew))
        done.rewrapped++
      }
    }
    return done
  })
}

/** Keys of records, in groups that a commit can take. */
function* together(entries: readonly Entry[]): Generator<Buffer[]> {
  let group: Buffer[] = []
  let bytes = 0
  for (const { key, value } of entries) {
    if (group.length === TOGETHER_MAX || bytes + value.length > TOGETHER_BYTES_MAX) {
      yield group
      group = []
      bytes = 0
    }
    group.push(key)
    bytes += value.length
  }
  if (group.length > 0) yield group
}

/** The kinds of records that are left, each from where to begin. */
function* rangesFrom(from: Buffer | undefined): Generator<{ start: Buffer; end: Buffer | undefined }> {
  const first = from === undefined ? 0 : KINDS.indexOf(String.fromCharCode(from[0] ?? 0))
  if (first < 0)
    throw new Fault('InvalidArgument', { ArgumentName: 'from', reason: 'from is not what a step returned' })
  for (const kind of KINDS.slice(first)) {
    const { start, end } = keyRanges.kind(kind)
    yield { start: from !== undefined && kind === KINDS[first] ? from : start, end }
  }
}

/** One step. The first one of a round tells the ledger, before anything is done. */
export async function rewrapBatch(context: StoreContext, from?: Buffer): Promise<RewrapProgress> {
  const { clock, keyring, ledgerCommits: turns } = context
  if (from === undefined) {
    const { service, named } = keyring.versions
    await turns.append(context, STORE_LEDGER, async (_d, note) => note({ what: 'keys rewrapped', service, named }))
  }
  const endsAt = clock.elapsed() + STEP_MS
  const sum = { looked: 0, rewrapped: 0, left: 0 }
  let pages = 0
  for (const { start, end } of rangesFrom(from)) {
    for (let at = start; ; ) {
      if (pages++ > 0 && clock.elapsed() >= endsAt) return { ...sum, next: at }
      const page = await context.meta.scan({ start: at, end }, PAGE)
      for (const keys of together(page.filter(entry => isOutdated(context, opened(entry)[0])))) {
        const { rewrapped, left } = await rewrapThese(context, keys)
        sum.rewrapped += rewrapped
        sum.left += left
      }
      sum.looked += page.length
      if (page.length < PAGE) break
      at = keySuccessor(page.at(-1)!.key)
      // Requests come first.
      await clock.sleep(0)
    }
  }
  return { ...sum, next: undefined }
}
