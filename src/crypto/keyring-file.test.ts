import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import type { Disk, DiskFile } from '../lib/disk.ts'
import { systemRandom } from '../lib/random.ts'
import { Keyring } from './keyring.ts'
import { decodeKeyring, encodeKeyring, KeyringDamaged, keyringInFolder } from './keyring-file.ts'

interface Inode {
  bytes: Buffer
  synced: Buffer
}

/**
 * A folder that models a power cut: synced bytes survive under synced names. Call number `failAt` fails, either before
 * or after it took effect.
 */
class FrailDisk implements Disk {
  names = new Map<string, Inode>()
  syncedNames = new Map<string, Inode>()
  calls = 0
  failAt = Number.POSITIVE_INFINITY
  failAfterEffect = false

  async #step<T>(effect: () => T): Promise<T> {
    const fails = ++this.calls >= this.failAt
    if (fails && !(this.failAfterEffect && this.calls === this.failAt)) throw new Error('injected')
    const result = effect()
    if (fails) throw new Error('injected')
    return result
  }

  open(path: string, how: 'create' | 'read'): Promise<DiskFile> {
    return this.#step(() => {
      if (how === 'create') {
        assert.ok(!this.names.has(path), 'the file exists')
        this.names.set(path, { bytes: Buffer.alloc(0), synced: Buffer.alloc(0) })
      }
      return this.#file(this.names.get(path)!)
    })
  }

  #file(inode: Inode): DiskFile {
    return {
      write: (pieces, position) =>
        this.#step(() => {
          inode.bytes = Buffer.concat([inode.bytes.subarray(0, position), ...pieces])
        }),
      read: ([into], position) => this.#step(() => inode.bytes.copy(into!, 0, position)),
      datasync: () =>
        this.#step(() => {
          inode.synced = inode.bytes
        }),
      size: () => this.#step(() => inode.bytes.length),
      // Closing works even on a failing disk; it makes nothing durable.
      close: async () => undefined,
    }
  }

  makeFolder = () => this.#step(() => undefined)
  list = () => this.#step(() => [...this.names.keys()].map(path => path.slice('keys/'.length)))
  free = async () => 0

  syncFolder(): Promise<void> {
    return this.#step(() => {
      this.syncedNames = new Map(this.names)
    })
  }

  rename(from: string, to: string): Promise<void> {
    return this.#step(() => {
      this.names.set(to, this.names.get(from)!)
      this.names.delete(from)
    })
  }

  remove(path: string): Promise<void> {
    return this.#step(() => {
      this.names.delete(path)
    })
  }

  /** The disk after a power cut; a process crash loses nothing. */
  afterCrash(lost: 'the unsynced' | 'the unsynced names' | 'nothing'): FrailDisk {
    const found = new FrailDisk()
    for (const [name, inode] of lost === 'nothing' ? this.names : this.syncedNames) {
      const bytes = Buffer.from(lost === 'the unsynced' ? inode.synced : inode.bytes)
      found.names.set(name, { bytes, synced: bytes })
    }
    found.syncedNames = new Map(found.names)
    return found
  }
}

const openOn = (disk: Disk): Promise<Keyring> =>
  Keyring.open({ storage: keyringInFolder(disk, 'keys'), random: systemRandom })
const CRASHES = ['the unsynced', 'the unsynced names', 'nothing'] as const
const contentKey = systemRandom.bytes(32)

/** The number of calls that `act` makes, so that each of them can be made to fail. */
async function callsOf(disk: FrailDisk, act: () => Promise<unknown>): Promise<number> {
  const before = disk.calls
  await act()
  return disk.calls - before
}

test('a crash at any call of the first start leaves no keyring or a good one', async () => {
  const whole = new FrailDisk()
  const calls = await callsOf(whole, () => openOn(whole))
  assert.ok(calls >= 7, `${calls} calls`)
  for (const crash of CRASHES) {
    for (let failAt = 1; failAt <= calls; failAt++) {
      for (const failAfterEffect of [false, true]) {
        const disk = new FrailDisk()
        Object.assign(disk, { failAt, failAfterEffect })
        await assert.rejects(openOn(disk), /injected/)
        const found = disk.afterCrash(crash)
        const file = found.names.get('keys/keyring')
        if (file !== undefined) decodeKeyring(file.bytes, 'keys/keyring')
        const keyring = await openOn(found)
        const again = await openOn(found.afterCrash('the unsynced'))
        assert.ok(again.id.equals(keyring.id), 'what the next start uses is durable')
      }
    }
  }
})

test('keys are handed out only once the keyring would outlive a power cut, also after a start that died', async () => {
  const whole = new FrailDisk()
  const first = new FrailDisk()
  first.failAt = await callsOf(whole, () => openOn(whole))
  await assert.rejects(openOn(first), /injected/)
  // The process died after the rename and before its sync; the machine did not. The next start finds the file.
  first.failAt = Number.POSITIVE_INFINITY
  assert.ok(first.names.has('keys/keyring') && !first.syncedNames.has('keys/keyring'))
  const keyring = await openOn(first)
  const survivor = await openOn(first.afterCrash('the unsynced'))
  assert.ok(survivor.unwrap(keyring.wrap(contentKey, { by: 'service' }), { by: 'service' }).equals(contentKey))
})

test('a crash at any call of a rotation loses no key, and a failed rotation does not change what wraps', async () => {
  const whole = new FrailDisk()
  const ring = await openOn(whole)
  const calls = await callsOf(whole, () => ring.rotate('service'))
  for (const crash of CRASHES) {
    for (let step = 1; step <= calls; step++) {
      for (const failAfterEffect of [false, true]) {
        const disk = new FrailDisk()
        const keyring = await openOn(disk)
        const before = keyring.wrap(contentKey, { by: 'service' })
        Object.assign(disk, { failAt: disk.calls + step, failAfterEffect })
        await assert.rejects(keyring.rotate('service'), /injected/)
        const after = keyring.wrap(contentKey, { by: 'service' })
        assert.ok(keyring.isCurrent(before))
        const found = await openOn(disk.afterCrash(crash))
        for (const wrapped of [before, after]) assert.ok(found.unwrap(wrapped, { by: 'service' }).equals(contentKey))
        disk.failAt = Number.POSITIVE_INFINITY
        assert.ok((await keyring.rotate('service')) >= 2, 'the next rotation works')
      }
    }
  }
})

async function storedKeyring(): Promise<{ disk: FrailDisk; bytes: Buffer; keyring: Keyring }> {
  const disk = new FrailDisk()
  const keyring = await openOn(disk)
  await keyring.disable('payroll')
  await keyring.rotate('storage')
  return { disk, keyring, bytes: disk.names.get('keys/keyring')!.bytes }
}

test('a keyring damaged in any byte or cut anywhere is a clear error and is left as it is', async () => {
  const { disk, bytes } = await storedKeyring()
  const file = disk.names.get('keys/keyring')!
  const bad: Buffer[] = []
  for (let at = 0; at < bytes.length; at++) {
    const flipped = Buffer.from(bytes)
    flipped[at] = flipped[at]! ^ (1 << (at % 8))
    bad.push(flipped, bytes.subarray(0, at))
  }
  bad.push(Buffer.concat([bytes, Buffer.of(0)]))
  for (const damaged of bad) {
    file.bytes = damaged
    await assert.rejects(openOn(disk), KeyringDamaged)
    assert.ok(file.bytes === damaged && disk.names.get('keys/keyring') === file)
  }
})

test('a format of a later program is refused by its number, and a keyring without keys is no keyring', () => {
  const key = [Buffer.alloc(32)]
  const contents = { id: Buffer.alloc(16), generation: 1, service: key, storage: key, named: key, names: new Map() }
  const body = encodeKeyring(contents).subarray(0, -32)
  body.writeUInt32BE(2, 8)
  const later = Buffer.concat([body, createHash('sha256').update(body).digest()])
  assert.throws(() => decodeKeyring(later, 'k'), /does not know its format 2/)
  assert.throws(() => decodeKeyring(encodeKeyring({ ...contents, named: [] }), 'k'), /no version/)
})

test('a running keyring whose file has gone or was replaced refuses to change it', async () => {
  const { disk, keyring } = await storedKeyring()
  const file = disk.names.get('keys/keyring')!
  disk.names.delete('keys/keyring')
  await assert.rejects(keyring.rotate('service'), /it is gone/)
  assert.ok(!disk.names.has('keys/keyring'))
  const stranger = await openOn(disk)
  await assert.rejects(keyring.rotate('service'), /another keyring/)
  await assert.rejects(keyring.reload(), /another keyring/)
  assert.ok(stranger.storageKey().version === 1)
  disk.names.set('keys/keyring', file)
  assert.equal(await keyring.rotate('service'), 2)
})
