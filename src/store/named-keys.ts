/**
 * P23. To disable a key is to delete what it wraps, so locks forbid that too. The key's state stands among the records:
 * whoever makes a version under it, locks one, or brings a locked one back to the top of its key depends on it. So a
 * key is first closed, then every version is looked at, current ones first, and no lock can come in behind the look.
 */
import { createHash } from 'node:crypto'
import { badKeyName, KeyringFull, type Rotatable } from '../crypto/keyring.ts'
import { justAfter } from '../lib/bytes.ts'
import { Fault } from '../model/faults.ts'
import { type KeyState, keyStateFormat, type NextVersion, nextVersionFormat } from '../model/key-state.ts'
import { STORE_LEDGER } from '../model/ledger.ts'
import { uploadFormat } from '../model/upload.ts'
import type { Encryption, Lock } from '../model/version.ts'
import { versionFormat } from '../model/version-record.ts'
import { mayRemove } from '../rules/lock.ts'
import { all, at } from './addresses.ts'
import { type Decision, decide } from './decision.ts'
import type { Engine } from './engine.ts'

const PAGE = 500

/** Names are longer than keys of records may be. */
const address = (name: string): Buffer => at.namedKey(createHash('sha256').update(name, 'utf8').digest())

/** Whoever makes or locks a version under a named key relies on the key. */
export async function relyOnKey(d: Decision, encryption: Encryption | undefined): Promise<void> {
  if (encryption?.by !== 'named') return
  const entry = await d.get(address(encryption.keyName!))
  if (entry === undefined || keyStateFormat.decode(entry.value) === 'open') return
  throw new Fault('KMS.DisabledException')
}

export interface NamedKey {
  readonly name: string
  readonly version: number
  readonly disabled: boolean
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
  readonly #engine: Engine
  /** The change of a key's state that was asked for last: one after the other, so that none undoes half of another. */
  #changing: Promise<unknown> = Promise.resolve()

  constructor(engine: Engine) {
    this.#engine = engine
  }

  /** Names that somebody made, rotated, disabled or enabled, in order. Others may be in use all the same (R22). */
  list(): NamedKey[] {
    return this.#engine.keyring
      .keyNames()
      .sort()
      .map(name => this.get(name))
  }

  get(name: string): NamedKey {
    return { name, ...this.#engine.keyring.keyState(name) }
  }

  async create(name: string): Promise<void> {
    checkName(name)
    if (this.#engine.keyring.keyNames().includes(name)) {
      throw new Fault('EntityAlreadyExists', { reason: `there is an encryption key ${name} already` })
    }
    await this.#engine.keyring.have([name]).catch(asFault)
  }

  /** From now on a new key seals; what the old ones sealed they go on opening. Resolves to its version. */
  async rotate({ of, name }: Rotation): Promise<number> {
    if (name !== undefined) {
      if (of !== 'named')
        throw new Fault('InvalidArgument', { ArgumentName: 'name', reason: 'only named keys have names' })
      checkName(name)
    }
    return this.#alone(async () => {
      await this.#finish()
      const before = (version: number): Promise<void> => this.#intend({ of, keyName: name, version })
      const version = await this.#engine.keyring.rotate(of, name, before).catch(asFault)
      await decide(this.#engine, async d => d.remove(at.rotation()))
      return version
    })
  }

  /** Noted before it is done, with what is left to do: whoever starts after a crash in between completes it. */
  #intend(next: NextVersion): Promise<void> {
    const { of, keyName, version } = next
    return this.#engine.turns.take(this.#engine, STORE_LEDGER, async (d, note) => {
      d.put(at.rotation(), nextVersionFormat.encode(next))
      note({ what: 'key rotated', of, ...(keyName === undefined ? {} : { keyName }), version })
    })
  }

  /** Does what the ledger tells of and a crash has left undone. At every start, by the owner of the folder. */
  finish(): Promise<void> {
    return this.#alone(() => this.#finish())
  }

  async #finish(): Promise<void> {
    const { meta, keyring } = this.#engine
    const entry = await meta.get(at.rotation())
    if (entry === undefined) return
    const { of, keyName, version } = nextVersionFormat.decode(entry.value)
    const now = keyName === undefined ? keyring.versions[of] : keyring.keyState(keyName).version
    if (now < version) await keyring.rotate(of, keyName)
    await decide(this.#engine, async d => d.remove(at.rotation()))
  }

  /** Nothing under this key can be read any more. Refused while a lock wants something to stay. */
  async disable(name: string): Promise<void> {
    checkName(name)
    await this.#alone(() => this.#disable(name))
  }

  async #disable(name: string): Promise<void> {
    await this.#set(name, 'closing')
    const locked = await this.#lockedUnder(name).catch(async (error: unknown) => {
      await this.#set(name, 'open')
      throw error
    })
    if (locked !== undefined) {
      await this.#set(name, 'open')
      throw new Fault('KeyInUse', { reason: `The key wraps a locked version: ${locked}` })
    }
    // Noted before it is done: whatever comes between, the ledger never tells less than has happened.
    let isNoted = false
    const before = async (): Promise<void> => {
      await this.#note(name, 'disabled')
      isNoted = true
    }
    await this.#engine.keyring.disable(name, before).catch(async (error: unknown) => {
      if (!isNoted) await this.#set(name, 'open')
      asFault(error)
    })
  }

  async enable(name: string): Promise<void> {
    checkName(name)
    await this.#alone(async () => {
      await this.#note(name, 'open')
      await this.#engine.keyring.enable(name).catch(asFault)
    })
  }

  /** Keys change in one process, the owner of the folder: its order is that of all. */
  #alone<T>(change: () => Promise<T>): Promise<T> {
    const changed = this.#changing.then(change)
    this.#changing = changed.catch(() => {})
    return changed
  }

  #note(name: string, state: 'open' | 'disabled'): Promise<void> {
    return this.#engine.turns.take(this.#engine, STORE_LEDGER, async (d, note) => {
      d.put(address(name), keyStateFormat.encode(state))
      note({ what: state === 'open' ? 'key enabled' : 'key disabled', keyName: name })
    })
  }

  #set(name: string, state: KeyState): Promise<void> {
    return decide(this.#engine, async d => d.put(address(name), keyStateFormat.encode(state)))
  }

  /** A locked version under this key, or an upload that is to become one; undefined when there is none. */
  async #lockedUnder(name: string): Promise<string | undefined> {
    const time = await this.#engine.lockClock.now()
    const isLocked = (lock: Lock): boolean => mayRemove(lock, time, false) !== undefined
    for (const kind of ['o', 'v', 'u']) {
      const decode = kind === 'u' ? uploadFormat.decode : versionFormat.decode
      for await (const value of this.#values(kind)) {
        const { encryption, lock, id } = decode(value)
        if (encryption?.by === 'named' && encryption.keyName === name && isLocked(lock)) return id.toString('hex')
      }
    }
    return undefined
  }

  async *#values(kind: string): AsyncGenerator<Buffer> {
    const { end } = all.kind(kind)
    for (let { start } = all.kind(kind); ; ) {
      const page = await this.#engine.meta.scan({ start, end }, PAGE)
      for (const { value } of page) yield value
      if (page.length < PAGE) return
      start = justAfter(page.at(-1)!.key)
    }
  }
}
