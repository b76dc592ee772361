/** P23. Scans every record that a lock may protect, page by page, and stores its progress. */
import { createHash } from 'node:crypto'
import { keySuccessor } from '../../lib/bytes.ts'
import type { Entry } from '../../meta/meta.ts'
import { Fault } from '../../model/faults.ts'
import { keyStateFormat, keyUseScanFormat } from '../../model/key-state.ts'
import { uploadFormat } from '../../model/upload.ts'
import { versionFormat } from '../../model/version-record.ts'
import { mayRemove } from '../../rules/lock.ts'
import { keyRanges, recordKey } from '../commit/record-keys.ts'
import { transact } from '../commit/transaction.ts'
import type { StoreContext } from '../store-context.ts'
import type { KeyProgress } from './key-changes.ts'

const PAGE = 500
/** At most this many pages are scanned again after a crash. */
const PAGES_PER_CHECKPOINT = 16
/** Current versions first: overwritten ones move to the older range, and no locked one can move back meanwhile. */
const KINDS = ['o', 'v', 'u']

/** Key names may be longer than a record key, so they are hashed. */
const digestOf = (name: string): Buffer => createHash('sha256').update(name, 'utf8').digest()
export const keyStateKey = (name: string): Buffer => recordKey.namedKey(digestOf(name))
export const keyUseScanKey = (name: string): Buffer => recordKey.keyUseScan(digestOf(name))

export const keyReenabled = (): Fault =>
  new Fault('OperationAborted', { reason: 'the key was enabled in the meantime' })

/** A scan of the records under a key that was closed with this stamp. */
export interface KeyUseScan {
  readonly name: string
  readonly stamp: number
  /** The first record key not scanned yet; undefined at the start. */
  readonly from: Buffer | undefined
}

/** Closes the key, or resumes the scan of an interrupted close. */
export async function beginKeyClose(context: StoreContext, name: string): Promise<KeyUseScan> {
  const { meta } = context
  const state = await meta.get(keyStateKey(name))
  const progress = await meta.get(keyUseScanKey(name))
  if (state !== undefined && progress !== undefined && keyStateFormat.decode(state.value) === 'closing') {
    const { stamp, from } = keyUseScanFormat.decode(progress.value)
    if (stamp === state.stamp) return { name, stamp, from }
  }
  await transact(context, async tx => {
    tx.put(keyStateKey(name), keyStateFormat.encode('closing'))
    tx.remove(keyUseScanKey(name))
  })
  return { name, stamp: (await meta.get(keyStateKey(name)))!.stamp, from: undefined }
}

/** The id of the version or upload if a lock protects it and it needs the key. */
function lockedUnder(name: string, { key, value }: Entry, time: number): string | undefined {
  const decode = key[0] === 'u'.charCodeAt(0) ? uploadFormat.decode : versionFormat.decode
  const { encryption, lock, id } = decode(value)
  if (encryption?.by !== 'named' || encryption.keyName !== name) return undefined
  return mayRemove(lock, time, false) === undefined ? undefined : id.toString('hex')
}

const inUse = (locked: string): Fault => new Fault('KeyInUse', { reason: `The key wraps a locked version: ${locked}` })

/** Throws if the record that blocked the key last time still does, which saves another scan. */
export async function refuseIfStillInUse(context: StoreContext, name: string): Promise<void> {
  const address = context.keyChanges.blockers.get(name)
  const entry = address && (await context.meta.get(address))
  const locked = entry && lockedUnder(name, entry, await context.lockClock.now())
  if (locked !== undefined) throw inUse(locked)
  context.keyChanges.blockers.delete(name)
}

/** Throws `KeyInUse` when a locked version, or an upload that will become one, needs the key. */
export async function scanKeyUses(context: StoreContext, scan: KeyUseScan, progress: KeyProgress): Promise<void> {
  const { name, from } = scan
  const time = await context.lockClock.now()
  const first = from === undefined ? 0 : KINDS.indexOf(String.fromCharCode(from[0]!))
  let pages = 0
  for (const kind of KINDS.slice(first)) {
    const { end, ...range } = keyRanges.kind(kind)
    for (let start = kind === KINDS[first] ? (from ?? range.start) : range.start; ; ) {
      const page = await context.meta.scan({ start, end }, PAGE)
      for (const entry of page) {
        const locked = lockedUnder(name, entry, time)
        if (locked === undefined) continue
        context.keyChanges.blockers.set(name, entry.key)
        throw inUse(locked)
      }
      progress.scanned += page.length
      if (progress.isWithdrawn) throw keyReenabled()
      if (page.length < PAGE) break
      start = keySuccessor(page.at(-1)!.key)
      if (++pages % PAGES_PER_CHECKPOINT === 0) await checkpoint(context, { ...scan, from: start })
      // Yields to requests between pages.
      await context.clock.sleep(0)
    }
  }
}

function checkpoint(context: StoreContext, { name, stamp, from }: KeyUseScan): Promise<void> {
  return transact(context, async tx => {
    if ((await tx.get(keyStateKey(name)))?.stamp !== stamp) throw keyReenabled()
    tx.put(keyUseScanKey(name), keyUseScanFormat.encode({ stamp, from: from! }))
  })
}
