/**
 * P23. To disable a key is to delete what it wraps, so locks forbid that too. The key's state stands among the records:
 * whoever makes a version under it, locks one, or brings a locked one back to the top of its key depends on it. So a
 * key is first closed, then every version is looked at, current ones first, and no lock can come in behind the look.
 * That may take long, so nobody has to wait for it; the key is disabled only if it has been closed all the time.
 */
import { badKeyName, KeyringFull, type Rotatable } from '../../crypto/keyring.ts'
import type { Clock } from '../../lib/clock.ts'
import { Fault } from '../../model/faults.ts'
import { type KeyState, keyStateFormat, type NextVersion, nextVersionFormat } from '../../model/key-state.ts'
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

/** Whoever disables a key hears by then how it went, or that it goes on. */
const WAIT_MS = 5_000

/** Whoever makes or locks a version under a named key relies on the key. */
export async function dependOnNamedKey(tx: Transaction, encryption: Encryption | undefined): Promise<void> {
  if (encryption?.by !== 'named') return
  const entry = await tx.get(keyStateKey(encryption.keyName!))
  if (entry === undefined || keyStateFormat.decode(entry.value) === 'open') return
  throw new Fault('KMS.DisabledException')
}

export interface NamedKey {
  readonly name: string
  readonly version: number
  readonly disabled: boolean
  /** Somebody disables it: so many versions and uploads were looked at so far. */
  readonly checking?: number
}

export interface Rotation {
  readonly of: Rotatable
  /** One named key; without, what all of them are derived from. */
  readonly name?: string | undefined
}

function checkName(name: string): void {
  const reason = badKeyName(name)
  if (reason !== undefined) throw new Fault('InvalidArgument', { ArgumentName: 'name', reason })
}

/** Full is the caller's business; anything else about the keyring is not. */
function asFault(error: unknown): never {
  throw error instanceof KeyringFull ? new Fault('LimitExceeded', { reason: error.message }) : error
}

export class NamedKeys {
  readonly #context: StoreContext

  constructor(context: StoreContext) {
    this.#context = context
  }

  /** Names that somebody made, rotated, disabled or enabled, in order. Others may be in use all the same (R22). */
  list(): NamedKey[] {
    return this.#context.keyring
      .keyNames()
      .sort()
      .map(name => this.get(name))
  }

  get(name: string): NamedKey {
    const look = this.#context.keyChanges.scans.get(name)
    return { name, ...this.#context.keyring.keyState(name), ...(look === undefined ? {} : { checking: look.scanned }) }
  }

  async create(name: string): Promise<void> {
    checkName(name)
    if (this.#context.keyring.keyNames().includes(name)) {
      throw new Fault('EntityAlreadyExists', { reason: `there is an encryption key ${name} already` })
    }
    await this.#context.keyring.have([name]).catch(asFault)
  }

  /** From now on a new key seals; what the old ones sealed they go on opening. Resolves to its version. */
  async rotate({ of, name }: Rotation): Promise<number> {
    if (name !== undefined) {
      if (of !== 'named')
        throw new Fault('InvalidArgument', { ArgumentName: 'name', reason: 'only named keys have names' })
      checkName(name)
    }
    return this.#context.keyChanges.exclusively(async () => {
      await this.#finish()
      const before = (version: number): Promise<void> => this.#intend({ of, keyName: name, version })
      const version = await this.#context.keyring.rotate(of, name, before).catch(asFault)
      await transact(this.#context, async tx => tx.remove(recordKey.rotation()))
      return version
    })
  }

  /** What older versions wrap is wrapped by the newest ones: one step of a round through the store. */
  rewrap(from?: Buffer): Promise<RewrapProgress> {
    return rewrapBatch(this.#context, from)
  }

  /** Noted before it is done, with what is left to do: whoever starts after a crash in between completes it. */
  #intend(next: NextVersion): Promise<void> {
    const { of, keyName, version } = next
    return this.#context.ledgerCommits.append(this.#context, STORE_LEDGER, async (tx, note) => {
      tx.put(recordKey.rotation(), nextVersionFormat.encode(next))
      note({ what: 'key rotated', of, ...(keyName === undefined ? {} : { keyName }), version })
    })
  }

  /** Does what the ledger tells of and a crash has left undone. At every start, by the owner of the folder. */
  finish(): Promise<void> {
    return this.#context.keyChanges.exclusively(() => this.#finish())
  }

  async #finish(): Promise<void> {
    const { meta, keyring } = this.#context
    const entry = await meta.get(recordKey.rotation())
    if (entry === undefined) return
    const { of, keyName, version } = nextVersionFormat.decode(entry.value)
    const now = keyName === undefined ? keyring.versions[of] : keyring.keyState(keyName).version
    if (now < version) await keyring.rotate(of, keyName)
    await transact(this.#context, async tx => tx.remove(recordKey.rotation()))
  }

  /**
   * Nothing under this key can be read any more. Refused while a lock wants something to stay. To find that out may
   * take long: then it goes on by itself, and whoever asks again hears how it went.
   */
  async disable(name: string): Promise<'disabled' | 'checking'> {
    checkName(name)
    const look = await this.#context.keyChanges.exclusively(() => this.#beginToDisable(name))
    if (look === undefined) return 'disabled'
    const disabled = look.outcome.then(() => 'disabled' as const)
    return soonOr(this.#context.clock, disabled, 'checking')
  }

  async #beginToDisable(name: string): Promise<KeyUseScanState | undefined> {
    const { keyChanges, keyring } = this.#context
    const underWay = keyChanges.scans.get(name)
    if (underWay !== undefined || keyring.keyState(name).disabled) return underWay
    await refuseIfStillInUse(this.#context, name)
    const looking = await beginKeyClose(this.#context, name)
    const progress = { scanned: 0, isWithdrawn: false }
    const outcome = this.#disable(looking, progress).finally(() => keyChanges.scans.delete(name))
    // Perhaps nobody waits for it any more.
    outcome.catch(() => {})
    const look = Object.assign(progress, { outcome })
    keyChanges.scans.set(name, look)
    return look
  }

  async #disable(looking: KeyUseScan, look: KeyProgress): Promise<void> {
    const { keyChanges, keyring } = this.#context
    let isNoted = false
    // Noted before it is done: whatever comes between, the ledger never tells less than has happened.
    const before = async (): Promise<void> => {
      await this.#noteDisabled(looking)
      isNoted = true
    }
    try {
      await scanKeyUses(this.#context, looking, look)
      await keyChanges.exclusively(() => keyring.disable(looking.name, before))
    } catch (error) {
      if (!isNoted) await keyChanges.exclusively(() => this.#open(looking))
      asFault(error)
    }
  }

  async enable(name: string): Promise<void> {
    checkName(name)
    const { keyChanges, keyring, ledgerCommits: turns } = this.#context
    await keyChanges.exclusively(async () => {
      const look = keyChanges.scans.get(name)
      if (look !== undefined) look.isWithdrawn = true
      await turns.append(this.#context, STORE_LEDGER, async (tx, note) => {
        setState(tx, name, 'open')
        note({ what: 'key enabled', keyName: name })
      })
      await keyring.enable(name).catch(asFault)
    })
  }

  /** Only if it was closed all the time since the look began. */
  #noteDisabled({ name, stamp }: KeyUseScan): Promise<void> {
    return this.#context.ledgerCommits.append(this.#context, STORE_LEDGER, async (tx, note) => {
      if ((await tx.get(keyStateKey(name)))?.stamp !== stamp) throw keyReenabled()
      setState(tx, name, 'disabled')
      note({ what: 'key disabled', keyName: name })
    })
  }

  /** As it was before the look, unless somebody else has said what it is to be. */
  #open({ name, stamp }: KeyUseScan): Promise<void> {
    return transact(this.#context, async tx => {
      if ((await tx.get(keyStateKey(name)))?.stamp === stamp) setState(tx, name, 'open')
    })
  }
}

/** With it ends what was known about a look. */
function setState(tx: Transaction, name: string, state: KeyState): void {
  tx.put(keyStateKey(name), keyStateFormat.encode(state))
  tx.remove(keyUseScanKey(name))
}

function soonOr<T, L>(clock: Clock, result: Promise<T>, late: L): Promise<T | L> {
  return new Promise((resolve, reject) => {
    const stop = clock.after(WAIT_MS, () => resolve(late))
    result.then(resolve, reject).finally(stop)
  })
}
