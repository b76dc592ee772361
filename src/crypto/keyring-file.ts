/** The keyring file: its layout, and how it is read and replaced as a whole. Layout: docs/formats/encryption.md. */
import { createHash } from 'node:crypto'
import type { Disk } from '../lib/disk.ts'
import { KEY_BYTES } from './derive.ts'

export const KEYRING_ID_BYTES = 16
export const NAME_BYTES_MAX = 2_048
/** Only names that were rotated or disabled take space, so this fits thousands of them. */
const KEYRING_BYTES_MAX = 16 * 2 ** 20

const MAGIC = Buffer.from('HFKEYRNG', 'latin1')
const FORMAT = 1
const CHECKSUM_BYTES = 32

export interface NamedKeyState {
  readonly version: number
  readonly disabled: boolean
}

/** Version N of a key is at index N - 1. No version is ever removed: something may still be wrapped by it. */
export interface KeyringContents {
  readonly id: Buffer
  /** Incremented with every change of the file. */
  readonly generation: number
  readonly service: readonly Buffer[]
  readonly storage: readonly Buffer[]
  readonly named: readonly Buffer[]
  /** Names that differ from the default state: version 1 and enabled. */
  readonly names: ReadonlyMap<string, NamedKeyState>
}

/** Where a keyring is kept as a whole. */
export interface KeyringStorage {
  /** For error messages. */
  readonly place: string
  /** Undefined only when there is none. */
  read(): Promise<KeyringContents | undefined>
  /** Durable when it resolves. Rejects with `KeyringChanged` if another process has replaced it since it was read. */
  write(contents: KeyringContents): Promise<void>
}

/** Two gateways changed the keyring at once; the second one's change has no effect. */
export class KeyringChanged extends Error {
  constructor() {
    super('another gateway has just changed the keyring: try again')
    this.name = 'KeyringChanged'
  }
}

/** The keyring exists but cannot be used. It is never replaced by a new one: that would lose everything it sealed. */
export class KeyringDamaged extends Error {
  readonly path: string
  constructor(path: string, what: string) {
    super(`keyring ${path}: ${what}; restore it from a backup, a new one cannot open what this one sealed`)
    this.name = 'KeyringDamaged'
    this.path = path
  }
}

export class KeyringFull extends RangeError {
  constructor() {
    super('the keyring cannot hold more named keys')
    this.name = 'KeyringFull'
  }
}

export const keyringPath = (folder: string): string => `${folder}/keyring`

/** Undefined only when the file does not exist. */
async function readKeyring(disk: Disk, folder: string): Promise<KeyringContents | undefined> {
  if (!(await disk.list(folder)).includes('keyring')) return undefined
  const path = keyringPath(folder)
  const file = await disk.open(path, 'read')
  try {
    const size = await file.size()
    if (size > KEYRING_BYTES_MAX) throw new KeyringDamaged(path, `it has ${size} bytes`)
    const bytes = Buffer.alloc(size)
    if ((await file.read([bytes], 0)) !== size) throw new KeyringDamaged(path, 'it is shorter than it says')
    return decodeKeyring(bytes, path)
  } finally {
    await file.close()
  }
}

/**
 * Durable when it resolves; at every moment either the old or the new file exists. Only the owner of the data folder
 * may call it: concurrent writers would not see each other's new keys.
 */
async function writeKeyring(disk: Disk, folder: string, contents: KeyringContents): Promise<void> {
  const bytes = fitting(contents)
  const unfinished = `${keyringPath(folder)}.new`
  // Left by a crash in this function; it never became the keyring, so nothing was sealed with it.
  await disk.remove(unfinished)
  const file = await disk.open(unfinished, 'create')
  try {
    await file.write([bytes], 0)
    await file.datasync()
  } finally {
    await file.close()
  }
  await disk.rename(unfinished, keyringPath(folder))
  await disk.syncFolder(folder)
}

/** The keyring as a file of a folder. */
export function keyringInFolder(disk: Disk, folder: string): KeyringStorage {
  return {
    place: keyringPath(folder),
    async read() {
      const contents = await readKeyring(disk, folder)
      // A start may have died before the keyring's name was durable; nothing may be sealed until it is.
      if (contents !== undefined) await disk.syncFolder(folder)
      return contents
    },
    async write(contents) {
      await disk.makeFolder(folder)
      await writeKeyring(disk, folder, contents)
    },
  }
}

/** Encodes the keyring; throws KeyringFull if it is too large. */
export function fitting(contents: KeyringContents): Buffer {
  const bytes = encodeKeyring(contents)
  if (bytes.length > KEYRING_BYTES_MAX) throw new KeyringFull()
  return bytes
}

const uint32 = (value: number): Buffer => {
  const out = Buffer.allocUnsafe(4)
  out.writeUInt32BE(value)
  return out
}

export function encodeKeyring(contents: KeyringContents): Buffer {
  const pieces: Buffer[] = [MAGIC, uint32(FORMAT), contents.id, uint32(contents.generation)]
  for (const keys of [contents.service, contents.storage, contents.named]) pieces.push(uint32(keys.length), ...keys)
  pieces.push(uint32(contents.names.size))
  for (const [name, state] of contents.names) {
    const text = Buffer.from(name, 'utf8')
    pieces.push(uint32(text.length), text, uint32(state.version), Buffer.of(state.disabled ? 1 : 0))
  }
  const body = Buffer.concat(pieces)
  return Buffer.concat([body, checksum(body)])
}

export function decodeKeyring(bytes: Buffer, path: string): KeyringContents {
  if (!bytes.subarray(0, MAGIC.length).equals(MAGIC)) throw new KeyringDamaged(path, 'it does not begin as a keyring')
  const body = bytes.subarray(0, Math.max(MAGIC.length, bytes.length - CHECKSUM_BYTES))
  if (!checksum(body).equals(bytes.subarray(body.length))) throw new KeyringDamaged(path, 'its checksum does not match')
  const from = new Cursor(body, MAGIC.length, path)
  const format = from.uint32()
  // Every format ends with the same checksum, so this file is from a newer program and not damaged.
  if (format !== FORMAT) throw new KeyringDamaged(path, `this program does not know its format ${format}`)
  const id = from.bytes(KEYRING_ID_BYTES)
  const generation = from.uint32()
  const [service, storage, named] = [from.keys(), from.keys(), from.keys()]
  const names = new Map<string, NamedKeyState>()
  for (let left = from.uint32(); left > 0; left--) {
    const name = from.bytes(from.uint32()).toString('utf8')
    names.set(name, { version: from.uint32(), disabled: from.bytes(1)[0] === 1 })
  }
  from.end()
  return { id, generation, service, storage, named, names }
}

function checksum(body: Buffer): Buffer {
  return createHash('sha256').update(body).digest()
}

class Cursor {
  readonly #from: Buffer
  readonly #path: string
  #at: number

  constructor(from: Buffer, at: number, path: string) {
    this.#from = from
    this.#at = at
    this.#path = path
  }

  bytes(count: number): Buffer {
    if (this.#at + count > this.#from.length) throw new KeyringDamaged(this.#path, 'it ends early')
    const out = Buffer.from(this.#from.subarray(this.#at, this.#at + count))
    this.#at += count
    return out
  }

  uint32(): number {
    return this.bytes(4).readUInt32BE(0)
  }

  keys(): Buffer[] {
    const count = this.uint32()
    if (count === 0) throw new KeyringDamaged(this.#path, 'a kind of key has no version')
    const keys: Buffer[] = []
    for (let i = 0; i < count; i++) keys.push(this.bytes(KEY_BYTES))
    return keys
  }

  end(): void {
    if (this.#at !== this.#from.length) throw new KeyringDamaged(this.#path, 'it has bytes left over')
  }
}
