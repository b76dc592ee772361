/** P23. Looks at everything that a lock may keep, some at a time, and remembers how far it has got. */
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
/** So many pages are looked at again at most after the process has died. */
const PAGES_UNNOTED = 16
/** Current versions first: overwritten ones go to the older ones, and none that is locked comes back meanwhile. */
const KINDS = ['o', 'v', 'u']

/** Names are longer than keys of records may be. */
const digestOf = (name: string): Buffer => createHash('sha256').update(name, 'utf8').digest()
export const keyStateKey = (name: string): Buffer => recordKey.namedKey(digestOf(name))
export const keyUseScanKey = (name: string): Buffer => recordKey.keyUseScan(digestOf(name))

export const keyReenabled = (): Fault => new Fault('OperationAborted', { reason: 'the key was enabled meanwhile' })

/** A look at what is under a key that was closed with this stamp. */
export interface KeyUseScan {
  readonly name: string
  readonly stamp: number
  /** The first address that was not looked at yet; undefined at the beginning. */
  readonly from: Buffer | undefined
}

/** Closes the key, unless somebody has who was interrupted: then the look goes on where that one was. */
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

/** Whether a lock keeps what this record is about, and the key is needed for it; by its name for people. */
function keptBy(name: string, { key, value }: Entry, time: number): string | undefined {
  const decode = key[0] === 'u'.charCodeAt(0) ? uploadFormat.decode : versionFormat.decode
  const { encryption, lock, id } = decode(value)
  if (encryption?.by !== 'named' || encryption.keyName !== name) return undefined
  return mayRemove(lock, time, false) === undefined ? undefined : id.toString('hex')
}

const inUse = (locked: string): Fault => new Fault('KeyInUse', { reason: `The key wraps a locked version: ${locked}` })

/** What kept the key the last time still does: nobody has to look for it again. */
export async function refuseIfStillInUse(context: StoreContext, name: string): Promise<void> {
  const address = context.keyChanges.blockers.get(name)
  const entry = address && (await context.meta.get(address))
  const locked = entry && keptBy(name, entry, await context.lockClock.now())
  if (locked !== undefined) throw inUse(locked)
  context.keyChanges.blockers.delete(name)
}

/** Throws `KeyInUse` when a locked version is under the key, or an upload that is to become one. */
export async function scanKeyUses(context: StoreContext, looking: KeyUseScan, look: KeyProgress): Promise<void> {
  const { name, from } = looking
  const time = await context.lockClock.now()
  const first = from === undefined ? 0 : KINDS.indexOf(String.fromCharCode(from[0]!))
  let pages = 0
  for (const kind of KINDS.slice(first)) {
    const { end, ...range } = keyRanges.kind(kind)
    for (let start = kind === KINDS[first] ? (from ?? range.start) : range.start; ; ) {
      const page = await context.meta.scan({ start, end }, PAGE)
      for (const entry of page) {
        const locked = keptBy(name, entry, time)
        if (locked === undefined) continue
        context.keyChanges.blockers.set(name, entry.key)
        throw inUse(locked)
      }
      look.scanned += page.length
      if (look.isWithdrawn) throw keyReenabled()
      if (page.length < PAGE) break
      start = keySuccessor(page.at(-1)!.key)
      if (++pages % PAGES_UNNOTED === 0) await note(context, { ...looking, from: start })
      // Requests come first.
      await context.clock.sleep(0)
    }
  }
}

function note(context: StoreContext, { name, stamp, from }: KeyUseScan): Promise<void> {
  return transact(context, async tx => {
    if ((await tx.get(keyStateKey(name)))?.stamp !== stamp) throw keyReenabled()
    tx.put(keyUseScanKey(name), keyUseScanFormat.encode({ stamp, from: from! }))
  })
}
