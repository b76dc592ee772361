/**
 * P23. Disabling a key makes everything it wraps unreadable, so locks forbid it. The key's state is a record that every
 * transaction checks when it creates a version under the key, locks one, or promotes a locked one to current. Disabling
 * first closes the key, then scans every version, current ones first, so that no lock can be added behind the scan. The
 * scan may take long and runs in the background; the key is disabled only if it stayed closed throughout.
 */
import { badKeyName, KeyringFull, type Rotatable } from '../../crypto/keyring.ts'
import type { Clock } from '../../lib/clock.ts'
import { Fault } from '../../model/faults.ts'
import { type KeyState, keyStateFormat, type PendingRotation, pendingRotationFormat } from '../../model/key-state.ts'
import { STORE_LEDGER } from '../../model/ledger.ts'
import type { Encryption } from '../../model/version.ts'
import { recordKey } from '../commit/record-keys.ts'
import { type Transaction, transact } from '../commit/transaction.ts'
import type { StoreContext } from '../store-context.ts'
import type { KeyProgress, KeyUseScanState } from './key-changes.ts'
import {
  beginKeyClose,
  type KeyUseScan,
  keyReenabled,
  keyStateKey,
  keyUseScanKey,
  refuseIfStillInUse,
  scanKeyUses,
} from './key-use-scan.ts'
import { type RewrapProgress, rewrapBatch } from './rewrap-keys.ts'

/** `disable` returns within this time: with the result, or reporting that the scan continues. */
const WAIT_MS = 5_000

/** Makes a transaction that creates or locks a version under a named key depend on the key's state. */
export async function checkNamedKey(tx: Transaction, encryption: Encryption): Promise<void> {
  if (encryption.by !== 'named') return
  const entry = await tx.get(keyStateKey(encryption.keyName!))
  if (entry === undefined || keyStateFormat.decode(entry.value) === 'open') return
  throw new Fault('KMS.DisabledException')
}

export interface NamedKey {
  readonly name: string
  readonly version: number
  readonly disabled: boolean
  /** Present while the key is being disabled: versions and uploads scanned so far. */
  readonly checking?: number
}

export interface Rotation {
  readonly of: Rotatable
  /** One named key; without it, the key that all named keys are derived from. */
  readonly name?: string | undefined
}

function checkName(name: string): void {
  const reason = badKeyName(name)
  if (reason !== undefined) throw new Fault('InvalidArgument', { ArgumentName: 'name', reason })
}

/** A full keyring is reported to the client; other keyring errors are internal. */
function asFault(error: unknown): never {
  throw error instanceof KeyringFull ? new Fault('LimitExceeded', { reason: error.message }) : error
}

export class NamedKeys {
  readonly #context: StoreContext

  constructor(context: StoreContext) {
    this.#context = context
  }

  /**
   * Names of keys that were created, rotated, disabled or enabled, in order. Other names may be in use as well (R22).
   */
  list(): NamedKey[] {
    return this.#context.keyring
      .keyNames()
      .sort()
      .map(name => this.get(name))
  }

  get(name: string): NamedKey {
    const scan = this.#context.keyChanges.scans.get(name)
    return { name, ...this.#context.keyring.keyState(name), ...(scan === undefined ? {} : { checking: scan.scanned }) }
  }

  async create(name: string): Promise<void> {
    checkName(name)
    if (this.#context.keyring.keyNames().includes(name)) {
      throw new Fault('EntityAlreadyExists', { reason: `encryption key ${name} already exists` })
    }
    await this.#context.keyring.have([name]).catch(asFault)
  }

  /** A new key version seals from now on; earlier versions still open what they sealed. Resolves to the new version. */
  async rotate({ of, name }: Rotation): Promise<number> {
    if (name !== undefined) {
      if (of !== 'named')
        throw new Fault('InvalidArgument', { ArgumentName: 'name', reason: 'only named keys have names' })
      checkName(name)
    }
    return this.#context.keyChanges.exclusively(async () => {
      await this.#finish()
      const before = (version: number): Promise<void> => this.#recordRotation({ of, keyName: name, version })
      const version = await this.#context.keyring.rotate(of, name, before).catch(asFault)
      await transact(this.#context, async tx => tx.remove(recordKey.rotation()))
      return version
    })
  }

  /** Runs one batch of rewrapping keys under their newest versions. */
  rewrap(from?: Buffer): Promise<RewrapProgress> {
    return rewrapBatch(this.#context, from)
  }

  /** Recorded before the rotation, so that the next start can complete it after a crash. */
  #recordRotation(next: PendingRotation): Promise<void> {
    const { of, keyName, version } = next
    return this.#context.ledgerCommits.transact(this.#context, STORE_LEDGER, async (tx, note) => {
      tx.put(recordKey.rotation(), pendingRotationFormat.encode(next))
      note({ what: 'key rotated', of, ...(keyName === undefined ? {} : { keyName }), version })
    })
  }

  /** Completes a rotation that a crash interrupted. Called by the owner of the folder at every start. */
  finish(): Promise<void> {
    return this.#context.keyChanges.exclusively(() => this.#finish())
  }

  async #finish(): Promise<void> {
    const { meta, keyring } = this.#context
    const entry = await meta.get(recordKey.rotation())
    if (entry === undefined) return
    const { of, keyName, version } = pendingRotationFormat.decode(entry.value)
    const now = keyName === undefined ? keyring.versions[of] : keyring.keyState(keyName).version
    if (now < version) await keyring.rotate(of, keyName)
    await transact(this.#context, async tx => tx.remove(recordKey.rotation()))
  }

  /**
   * Makes everything under this key unreadable. Refused while a locked version needs the key. The scan for one may
   * outlast this call; it then continues in the background, and a later call reports its result.
   */
  async disable(name: string): Promise<'disabled' | 'checking'> {
    checkName(name)
    const scan = await this.#context.keyChanges.exclusively(() => this.#startDisabling(name))
    if (scan === undefined) return 'disabled'
    const disabled = scan.outcome.then(() => 'disabled' as const)
    return orTimeout(this.#context.clock, disabled, 'checking')
  }

  async #startDisabling(name: string): Promise<KeyUseScanState | undefined> {
    const { keyChanges, keyring } = this.#context
    const running = keyChanges.scans.get(name)
    if (running !== undefined || keyring.keyState(name).disabled) return running
    await refuseIfStillInUse(this.#context, name)
    const keyScan = await beginKeyClose(this.#context, name)
    const progress = { scanned: 0, isWithdrawn: false }
    const outcome = this.#disable(keyScan, progress).finally(() => keyChanges.scans.delete(name))
    // The caller may have stopped waiting.
    outcome.catch(() => {})
    const scan = Object.assign(progress, { outcome })
    keyChanges.scans.set(name, scan)
    return scan
  }

  async #disable(keyScan: KeyUseScan, scan: KeyProgress): Promise<void> {
    const { keyChanges, keyring } = this.#context
    let isRecorded = false
    // Recorded in the ledger first, so that the ledger never lacks a change that happened.
    const before = async (): Promise<void> => {
      await this.#recordDisabled(keyScan)
      isRecorded = true
    }
    try {
      await scanKeyUses(this.#context, keyScan, scan)
      await keyChanges.exclusively(() => keyring.disable(keyScan.name, before))
    } catch (error) {
      if (!isRecorded) await keyChanges.exclusively(() => this.#open(keyScan))
      asFault(error)
    }
  }

  async enable(name: string): Promise<void> {
    checkName(name)
    const { keyChanges, keyring, ledgerCommits } = this.#context
    await keyChanges.exclusively(async () => {
      const scan = keyChanges.scans.get(name)
      if (scan !== undefined) scan.isWithdrawn = true
      await ledgerCommits.transact(this.#context, STORE_LEDGER, async (tx, note) => {
        setState(tx, name, 'open')
        note({ what: 'key enabled', keyName: name })
      })
      await keyring.enable(name).catch(asFault)
    })
  }

  /** Fails unless the key stayed closed since the scan began. */
  #recordDisabled({ name, stamp }: KeyUseScan): Promise<void> {
    return this.#context.ledgerCommits.transact(this.#context, STORE_LEDGER, async (tx, note) => {
      if ((await tx.get(keyStateKey(name)))?.stamp !== stamp) throw keyReenabled()
      setState(tx, name, 'disabled')
      note({ what: 'key disabled', keyName: name })
    })
  }

  /** Reopens the key, unless its state was changed meanwhile. */
  #open({ name, stamp }: KeyUseScan): Promise<void> {
    return transact(this.#context, async tx => {
      if ((await tx.get(keyStateKey(name)))?.stamp === stamp) setState(tx, name, 'open')
    })
  }
}

/** Sets the state and discards the progress of a scan. */
function setState(tx: Transaction, name: string, state: KeyState): void {
  tx.put(keyStateKey(name), keyStateFormat.encode(state))
  tx.remove(keyUseScanKey(name))
}

function orTimeout<T, L>(clock: Clock, result: Promise<T>, late: L): Promise<T | L> {
  return new Promise((resolve, reject) => {
    const stop = clock.after(WAIT_MS, () => resolve(late))
    result.then(resolve, reject).finally(stop)
  })
}
