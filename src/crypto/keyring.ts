/**
 * The server's own keys, and the wrapping of content keys with the key a request selects. Wrapping and unwrapping are
 * synchronous and pure; only a change of the keyring touches the disk. Customer keys are never stored.
 */
import { createHash } from 'node:crypto'
import { EMPTY } from '../lib/bytes.ts'
import { type Ed25519Key, ed25519Key } from '../lib/ed25519.ts'
import type { Random } from '../lib/random.ts'
import { deriveKey, KEY_BYTES } from './derive.ts'
import { unwrapKey, WRAP_NONCE_BYTES, WRAPPED_BYTES, WrongKey, wrapKey } from './key-wrap.ts'
import {
  fitting,
  KEYRING_ID_BYTES,
  KeyringChanged,
  type KeyringContents,
  KeyringDamaged,
  KeyringFull,
  type KeyringStorage,
  NAME_BYTES_MAX,
  type NamedKeyState,
} from './keyring-file.ts'

/** The key that wraps a content key, and the data it is bound to. */
export type KeyUse =
  | { readonly by: 'service' }
  | { readonly by: 'named'; readonly name: string; readonly context: Buffer | undefined }
  | { readonly by: 'customer'; readonly key: Buffer }

export { KeyringFull, WrongKey }

export type Rotatable = 'service' | 'storage' | 'named'

export class KeyDisabled extends Error {
  readonly keyName: string
  constructor(keyName: string) {
    super('the named key is disabled')
    this.name = 'KeyDisabled'
    this.keyName = keyName
  }
}

/** A strict keyring has no key of this name. */
export class KeyUnknown extends Error {
  readonly keyName: string
  constructor(keyName: string) {
    super('there is no key of this name')
    this.name = 'KeyUnknown'
    this.keyName = keyName
  }
}

/** Another process may have rotated since this one read the keyring: see `upToDate`. */
export class UnknownKeyVersion extends Error {
  constructor(kind: Rotatable, version: number) {
    super(`the keyring has no version ${version} of its ${kind} key`)
    this.name = 'UnknownKeyVersion'
  }
}

const WRAP_FORMAT = 1
const KINDS = { service: 1, named: 2, customer: 3 } as const
/** format, kind, version of the keyring's key, version of the name. */
const HEADER_BYTES = 1 + 1 + 4 + 4
const CONTEXT_BYTES_MAX = 65_536
const AT_FIRST: NamedKeyState = { version: 1, disabled: false }

interface Header {
  readonly kind: number
  readonly keyVersion: number
  readonly nameVersion: number
}

interface KeyringHome {
  readonly storage: KeyringStorage
  readonly random: Random
  /** R22. A name is valid only once its key was created; otherwise every name is, from its first use on. */
  readonly strict?: boolean
  /** Called after a change is stored; the change completes when this resolves. */
  readonly changed?: () => Promise<void>
}

export class Keyring {
  readonly #home: KeyringHome
  #contents: KeyringContents
  #signing: Ed25519Key | undefined
  /** Serializes reads and writes of the file. */
  #steps: Promise<unknown> = Promise.resolve()

  private constructor(home: KeyringHome, contents: KeyringContents) {
    this.#home = home
    this.#contents = contents
  }

  /** Creates the keyring at the first start. The owner of the data folder opens it before any other process does. */
  static async open(home: KeyringHome): Promise<Keyring> {
    const { storage, random } = home
    const stored = await storage.read()
    if (stored !== undefined) return new Keyring(home, stored)
    const fresh = (): Buffer[] => [random.bytes(KEY_BYTES)]
    const made: KeyringContents = {
      id: random.bytes(KEYRING_ID_BYTES),
      generation: 1,
      service: fresh(),
      storage: fresh(),
      named: fresh(),
      names: new Map(),
    }
    await storage.write(made)
    return new Keyring(home, made)
  }

  /** Not secret. Stored with the data, it shows when a keyring is not the one the data were sealed with. */
  get id(): Buffer {
    return Buffer.from(this.#contents.id)
  }

  /** The newest storage key, or the given version of it. */
  storageKey(version = this.#contents.storage.length): { version: number; key: Buffer } {
    return { version, key: Buffer.from(this.#key('storage', version)) }
  }

  wrap(contentKey: Buffer, use: KeyUse): Buffer {
    // Content that is already wrapped stays readable: the name is checked only for new content.
    if (use.by === 'named') this.#refuseUnknown(use.name)
    const now = this.#current(use)
    const header = Buffer.alloc(HEADER_BYTES)
    header[0] = WRAP_FORMAT
    header[1] = now.kind
    header.writeUInt32BE(now.keyVersion, 2)
    header.writeUInt32BE(now.nameVersion, 6)
    const nonce = this.#home.random.bytes(WRAP_NONCE_BYTES)
    return Buffer.concat([header, wrapKey(this.#wrapper(use, now), contentKey, boundTo(header, use), nonce)])
  }

  unwrap(wrapped: Buffer, use: KeyUse): Buffer {
    const header = readHeader(wrapped)
    if (header.kind !== KINDS[use.by]) throw new WrongKey()
    const bound = boundTo(wrapped.subarray(0, HEADER_BYTES), use)
    return unwrapKey(this.#wrapper(use, header), wrapped.subarray(HEADER_BYTES), bound)
  }

  rewrap(wrapped: Buffer, from: KeyUse, to: KeyUse): Buffer {
    const contentKey = this.unwrap(wrapped, from)
    try {
      return this.wrap(contentKey, to)
    } finally {
      contentKey.fill(0)
    }
  }

  /** False if a rotation since then calls for rewrapping. For a named key this needs the name. */
  isCurrent(wrapped: Buffer, name?: string): boolean {
    const { kind, keyVersion, nameVersion } = readHeader(wrapped)
    if (kind === KINDS.customer) return true
    if (kind === KINDS.service) return keyVersion === this.#contents.service.length
    if (name === undefined) throw new TypeError('whether a named key is current depends on its name')
    return keyVersion === this.#contents.named.length && nameVersion === this.keyState(name).version
  }

  /**
   * The secret that keys the ETags of this class of objects. It derives from the first version and so outlives
   * rotation: the same content under the same key keeps its ETag.
   */
  etagSecret(use: KeyUse): Buffer {
    if (use.by === 'customer') return deriveKey(use.key, 'etag customer', EMPTY)
    if (use.by === 'service') return deriveKey(this.#key('service', 1), 'etag service', EMPTY)
    this.#refuseDisabled(use.name)
    return deriveKey(this.#key('named', 1), 'etag named', nameDigest(use.name))
  }

  /** Signs ledger heads. It also derives from the first version: one public key verifies every signature. */
  get signing(): Ed25519Key {
    this.#signing ??= ed25519Key(deriveKey(this.#key('service', 1), 'ledger signing', EMPTY))
    return this.#signing
  }

  /**
   * Adds a version and makes it the wrapping one; old ones still unwrap. Resolves to its number. `before` is called
   * with that number once nothing else can fail: the keyring changes only after it resolves.
   */
  async rotate(what: Rotatable, name?: string, before?: (version: number) => Promise<void>): Promise<number> {
    if (name !== undefined && what !== 'named') throw new TypeError('only named keys have names')
    const newest = ({ names, ...keys }: KeyringContents): number =>
      name === undefined ? keys[what].length : names.get(name)!.version
    const beforeChange = before && ((next: KeyringContents) => before(newest(next)))
    if (name !== undefined) {
      return newest(await this.#changeName(name, state => ({ ...state, version: state.version + 1 }), beforeChange))
    }
    return newest(
      await this.#change(now => ({ [what]: [...now[what], this.#home.random.bytes(KEY_BYTES)] }), beforeChange),
    )
  }

  /** Creates the keys of these names that do not exist. */
  async have(names: readonly string[]): Promise<void> {
    const missing = names.filter(name => !this.#contents.names.has(name))
    missing.forEach(nameBytes)
    if (missing.length === 0) return
    const added = missing.map((name): [string, NamedKeyState] => [name, AT_FIRST])
    try {
      await this.#change(now => ({ names: new Map([...added, ...now.names]) }))
    } catch (error) {
      if (!(error instanceof KeyringChanged)) throw error
      await this.reload()
      await this.have(names)
    }
  }

  /** `before` as for `rotate`. */
  async disable(name: string, before?: () => Promise<void>): Promise<void> {
    await this.#changeName(name, state => ({ ...state, disabled: true }), before)
  }

  async enable(name: string): Promise<void> {
    await this.#changeName(name, state => ({ ...state, disabled: false }))
  }

  /**
   * Names that were ever created, rotated, disabled or enabled. Unless strict, every other name exists in its initial
   * state.
   */
  keyNames(): string[] {
    return [...this.#contents.names.keys()]
  }

  /** The number of versions of each of the keyring's own keys: the newest seals, all of them open. */
  get versions(): Readonly<Record<Rotatable, number>> {
    const { service, storage, named } = this.#contents
    return { service: service.length, storage: storage.length, named: named.length }
  }

  keyState(name: string): NamedKeyState {
    return this.#contents.names.get(name) ?? AT_FIRST
  }

  /** Reads changes made by another process. */
  reload(): Promise<void> {
    return this.#inTurn(async () => {
      this.#contents = await this.#stored()
    })
  }

  /** Runs `use`, and once more after a reload if it needs a key that another process has added. */
  async upToDate<T>(use: () => T): Promise<T> {
    try {
      return use()
    } catch (error) {
      if (!(error instanceof UnknownKeyVersion)) throw error
      await this.reload()
      return use()
    }
  }

  /** A printed keyring shows its id and no key. */
  toJSON(): { id: string; generation: number } {
    return { id: this.#contents.id.toString('hex'), generation: this.#contents.generation }
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return `Keyring ${JSON.stringify(this)}`
  }

  #key(kind: Rotatable, version: number): Buffer {
    const key = this.#contents[kind][version - 1]
    if (key === undefined) throw new UnknownKeyVersion(kind, version)
    return key
  }

  #current(use: KeyUse): Header {
    const kind = KINDS[use.by]
    if (use.by === 'customer') return { kind, keyVersion: 0, nameVersion: 0 }
    const keyVersion = this.#contents[use.by].length
    return { kind, keyVersion, nameVersion: use.by === 'named' ? this.keyState(use.name).version : 0 }
  }

  #wrapper(use: KeyUse, header: Header): Buffer {
    if (use.by === 'customer') return use.key
    const key = this.#key(use.by, header.keyVersion)
    if (use.by === 'service') return key
    this.#refuseDisabled(use.name)
    const binding = Buffer.concat([Buffer.alloc(4), nameDigest(use.name)])
    binding.writeUInt32BE(header.nameVersion)
    return deriveKey(key, 'named key', binding)
  }

  #refuseUnknown(name: string): void {
    if (this.#home.strict === true && !this.#contents.names.has(name)) throw new KeyUnknown(name)
  }

  #refuseDisabled(name: string): void {
    if (this.keyState(name).disabled) throw new KeyDisabled(name)
  }

  async #changeName(
    name: string,
    change: (state: NamedKeyState) => NamedKeyState,
    before?: (next: KeyringContents) => Promise<void>,
  ): Promise<KeyringContents> {
    nameBytes(name)
    const changed = (now: KeyringContents): Partial<KeyringContents> => ({
      names: new Map(now.names).set(name, change(now.names.get(name) ?? AT_FIRST)),
    })
    return this.#change(changed, before)
  }

  /** Starts from what is stored, not from memory: a version that another process added must not be lost. */
  async #change(
    change: (now: KeyringContents) => Partial<KeyringContents>,
    before?: (next: KeyringContents) => Promise<void>,
  ): Promise<KeyringContents> {
    const next = await this.#inTurn(async () => {
      const now = await this.#stored()
      const changed = { ...now, ...change(now), generation: now.generation + 1 }
      fitting(changed)
      await before?.(changed)
      await this.#home.storage.write(changed)
      this.#contents = changed
      return changed
    })
    // Not in turn: other processes may change the keyring meanwhile, and ask this one to reload it.
    await this.#home.changed?.()
    return next
  }

  /** A reload that started before a change must not restore the old state. */
  #inTurn<T>(step: () => Promise<T>): Promise<T> {
    const done = this.#steps.then(step)
    this.#steps = done.catch(() => undefined)
    return done
  }

  async #stored(): Promise<KeyringContents> {
    const { storage } = this.#home
    const stored = await storage.read()
    if (stored === undefined) throw new KeyringDamaged(storage.place, 'it is gone')
    if (!stored.id.equals(this.#contents.id)) {
      throw new KeyringDamaged(storage.place, 'another keyring has taken its place')
    }
    return stored
  }
}

function readHeader(wrapped: Buffer): Header {
  if (wrapped.length !== HEADER_BYTES + WRAPPED_BYTES || wrapped[0] !== WRAP_FORMAT) throw new WrongKey()
  return { kind: wrapped[1]!, keyVersion: wrapped.readUInt32BE(2), nameVersion: wrapped.readUInt32BE(6) }
}

/** Lengths precede the name and the context, so that no two pairs encode to the same bytes. */
function boundTo(header: Buffer, use: KeyUse): Buffer {
  if (use.by !== 'named') return header
  const name = nameBytes(use.name)
  const { context } = use
  if (context !== undefined && context.length > CONTEXT_BYTES_MAX) throw new RangeError('the key context is too long')
  const lengths = Buffer.alloc(4 + 1 + 4)
  lengths.writeUInt32BE(name.length, 0)
  lengths[4] = context === undefined ? 0 : 1
  lengths.writeUInt32BE(context?.length ?? 0, 5)
  return Buffer.concat([header, lengths, name, context ?? EMPTY])
}

function nameDigest(name: string): Buffer {
  return createHash('sha256').update(nameBytes(name)).digest()
}

/** Why a key name is invalid; undefined if it is valid. */
export function badKeyName(name: string): string | undefined {
  const bytes = Buffer.from(name, 'utf8')
  if (bytes.length === 0 || bytes.length > NAME_BYTES_MAX) return 'a key name has 1 to 2048 bytes'
  // Lone surrogates all encode to the same bytes, which would merge two names into one key.
  return bytes.toString('utf8') === name ? undefined : 'a key name is well-formed text'
}

function nameBytes(name: string): Buffer {
  const problem = badKeyName(name)
  if (problem !== undefined) throw new RangeError(problem)
  return Buffer.from(name, 'utf8')
}
