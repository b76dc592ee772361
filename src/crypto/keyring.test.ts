import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { realDisk } from '../lib/disk.ts'
import { type Random, systemRandom } from '../lib/random.ts'
import { KeyDisabled, Keyring, KeyUnknown, type KeyUse, UnknownKeyVersion, WrongKey } from './keyring.ts'
import { KeyringChanged, type KeyringContents, type KeyringStorage, keyringInFolder } from './keyring-file.ts'

const contentKey = systemRandom.bytes(32)
const service: KeyUse = { by: 'service' }
const customer: KeyUse = { by: 'customer', key: systemRandom.bytes(32) }
const named = (name: string, context?: string): KeyUse => ({
  by: 'named',
  name,
  context: context === undefined ? undefined : Buffer.from(context),
})
const USES: readonly KeyUse[] = [service, named('payroll'), named('payroll', ''), named('payroll', 'dept=7'), customer]

type Again = (strict?: boolean) => Promise<Keyring>

async function withKeyring(run: (keyring: Keyring, again: Again) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-keyring-'))
  const again: Again = (strict = false) =>
    Keyring.open({ storage: keyringInFolder(realDisk, join(folder, 'keys')), random: systemRandom, strict })
  try {
    await run(await again(), again)
  } finally {
    await rm(folder, { recursive: true })
  }
}

test('a key is unwrapped only by the use that wrapped it', () =>
  withKeyring(async keyring => {
    const uses = [...USES, named('payrolk', 'dept=7'), named('payroll', 'dept=8'), named('payrolld', 'ept=7')]
    uses.push({ by: 'customer', key: systemRandom.bytes(32) })
    for (const use of uses) {
      const wrapped = keyring.wrap(contentKey, use)
      for (const other of uses) {
        if (other === use) assert.ok(keyring.unwrap(wrapped, other).equals(contentKey))
        else assert.throws(() => keyring.unwrap(wrapped, other), WrongKey)
      }
    }
  }))

test('every flipped byte of a wrapped key is an error', () =>
  withKeyring(async keyring => {
    for (const use of USES) {
      const wrapped = keyring.wrap(contentKey, use)
      assert.equal(wrapped.length, 82)
      for (let at = 0; at < wrapped.length; at++) {
        const bad = Buffer.from(wrapped)
        bad[at] = bad[at]! ^ (1 << (at % 8))
        assert.throws(
          () => keyring.unwrap(bad, use),
          (error: unknown) => error instanceof WrongKey || error instanceof UnknownKeyVersion,
          `${use.by}, byte ${at}`,
        )
      }
      assert.throws(() => keyring.unwrap(wrapped.subarray(0, 81), use), WrongKey)
    }
  }))

test('wrapping twice gives different bytes, so equal contents do not look equal', () =>
  withKeyring(async keyring => {
    for (const use of USES) assert.ok(!keyring.wrap(contentKey, use).equals(keyring.wrap(contentKey, use)))
  }))

test('two opens give the same keys, two keyrings different ones', () =>
  withKeyring(async (keyring, again) => {
    const same = await again()
    assert.ok(same.id.equals(keyring.id))
    assert.deepEqual(same.storageKey(), keyring.storageKey())
    for (const use of USES) {
      assert.ok(same.unwrap(keyring.wrap(contentKey, use), use).equals(contentKey))
      assert.ok(same.etagSecret(use).equals(keyring.etagSecret(use)))
    }
    await withKeyring(async stranger => {
      assert.ok(!stranger.storageKey().key.equals(keyring.storageKey().key))
      for (const use of USES) {
        const open = () => stranger.unwrap(keyring.wrap(contentKey, use), use)
        // A customer key does not depend on the keyring.
        if (use.by === 'customer') assert.ok(open().equals(contentKey))
        else assert.throws(open, WrongKey)
      }
    })
  }))

test('the file is readable by its owner alone, also after a rotation', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-keyring-'))
  try {
    const keyring = await Keyring.open({ storage: keyringInFolder(realDisk, folder), random: systemRandom })
    assert.equal((await stat(join(folder, 'keyring'))).mode & 0o777, 0o600)
    await keyring.rotate('storage')
    assert.equal((await stat(join(folder, 'keyring'))).mode & 0o777, 0o600)
    assert.deepEqual(await readdir(folder), ['keyring'])
  } finally {
    await rm(folder, { recursive: true })
  }
})

test('after a rotation the old stays readable and is known to be old, also for the next process', () =>
  withKeyring(async (keyring, again) => {
    const before = USES.map(use => keyring.wrap(contentKey, use))
    const nameOf = (use: KeyUse) => (use.by === 'named' ? use.name : undefined)
    assert.ok(before.every((wrapped, i) => keyring.isCurrent(wrapped, nameOf(USES[i]!))))
    assert.equal(await keyring.rotate('service'), 2)
    assert.equal(await keyring.rotate('named', 'payroll'), 2)
    for (const ring of [keyring, await again()]) {
      for (const [i, use] of USES.entries()) {
        const wrapped = before[i]!
        assert.ok(ring.unwrap(wrapped, use).equals(contentKey))
        assert.equal(ring.isCurrent(wrapped, nameOf(use)), use.by === 'customer')
        const anew = ring.rewrap(wrapped, use, use)
        assert.ok(ring.isCurrent(anew, nameOf(use)))
        assert.ok(ring.unwrap(anew, use).equals(contentKey))
      }
    }
  }))

test('rotating one name leaves the others current; rotating the named master wants all wrapped anew', () =>
  withKeyring(async keyring => {
    const other = keyring.wrap(contentKey, named('archive'))
    await keyring.rotate('named', 'payroll')
    assert.ok(keyring.isCurrent(other, 'archive'))
    assert.equal(await keyring.rotate('named'), 2)
    assert.ok(!keyring.isCurrent(other, 'archive'))
    assert.ok(keyring.unwrap(other, named('archive')).equals(contentKey))
    assert.throws(() => keyring.isCurrent(other), TypeError)
    await assert.rejects(keyring.rotate('service', 'payroll'), TypeError)
  }))

test('storage keys: the newest by default, every earlier one by its version', () =>
  withKeyring(async (keyring, again) => {
    const first = keyring.storageKey()
    assert.equal(await keyring.rotate('storage'), 2)
    const second = (await again()).storageKey()
    assert.equal(second.version, 2)
    assert.ok(!second.key.equals(first.key))
    assert.deepEqual(keyring.storageKey(1), first)
    for (const version of [0, 3]) assert.throws(() => keyring.storageKey(version), UnknownKeyVersion)
    keyring.storageKey(1).key.fill(0)
    assert.deepEqual(keyring.storageKey(1), first, 'a caller who wipes its copy does not wipe the keyring')
  }))

test('a copy between keys wraps the same content key anew', () =>
  withKeyring(async keyring => {
    for (const from of USES) {
      for (const to of USES) {
        const moved = keyring.rewrap(keyring.wrap(contentKey, from), from, to)
        assert.ok(keyring.unwrap(moved, to).equals(contentKey))
      }
    }
  }))

test('a disabled name wraps and unwraps nothing until it is enabled; others are not touched', () =>
  withKeyring(async (keyring, again) => {
    const wrapped = keyring.wrap(contentKey, named('payroll'))
    await keyring.disable('payroll')
    for (const ring of [keyring, await again()]) {
      assert.throws(() => ring.unwrap(wrapped, named('payroll')), KeyDisabled)
      assert.throws(() => ring.wrap(contentKey, named('payroll')), KeyDisabled)
      assert.throws(() => ring.etagSecret(named('payroll')), KeyDisabled)
      assert.ok(ring.wrap(contentKey, named('archive')).length > 0)
      assert.deepEqual(ring.keyNames(), ['payroll'])
      assert.deepEqual(ring.keyState('payroll'), { version: 1, disabled: true })
    }
    await keyring.enable('payroll')
    assert.ok(keyring.unwrap(wrapped, named('payroll')).equals(contentKey))
  }))

test('R22: a strict keyring wraps by names that were made, and goes on unwrapping by all others', () =>
  withKeyring(async (loose, again) => {
    const wrapped = loose.wrap(contentKey, named('payroll'))
    const strict = await again(true)
    assert.throws(() => strict.wrap(contentKey, named('payroll')), KeyUnknown)
    assert.throws(() => strict.rewrap(wrapped, named('payroll'), named('archive')), KeyUnknown)
    assert.ok(strict.unwrap(wrapped, named('payroll')).equals(contentKey))
    for (const use of [service, customer]) assert.ok(strict.wrap(contentKey, use).length > 0)
    await strict.have(['payroll', 'archive', 'payroll'])
    await strict.disable('archive')
    // Existing names stay as they are.
    await strict.have(['payroll', 'archive'])
    const later = await again(true)
    assert.ok(later.unwrap(later.wrap(contentKey, named('payroll')), named('payroll')).equals(contentKey))
    assert.throws(() => later.wrap(contentKey, named('archive')), KeyDisabled)
    assert.throws(() => later.wrap(contentKey, named('other')), KeyUnknown)
    await assert.rejects(later.have(['fine', '']), RangeError)
    assert.throws(() => later.wrap(contentKey, named('fine')), KeyUnknown)
  }))

test('a process with an old view neither loses the keys another one added nor opens what they wrapped unseen', () =>
  withKeyring(async (keyring, again) => {
    const stale = await again()
    await keyring.rotate('service')
    const wrapped = keyring.wrap(contentKey, service)
    assert.throws(() => stale.unwrap(wrapped, service), UnknownKeyVersion)
    await stale.rotate('storage')
    assert.ok(stale.unwrap(wrapped, service).equals(contentKey))
    assert.throws(() => keyring.storageKey(2), UnknownKeyVersion)
    await keyring.reload()
    assert.deepEqual(keyring.storageKey(), stale.storageKey())
  }))

test('concurrent changes of the keyring all happen', () =>
  withKeyring(async (keyring, again) => {
    const versions = await Promise.all([1, 2, 3, 4].map(() => keyring.rotate('service')))
    assert.deepEqual(versions, [2, 3, 4, 5])
    await Promise.all([keyring.disable('a'), keyring.rotate('named', 'b'), keyring.disable('c')])
    assert.deepEqual((await again()).keyNames(), ['a', 'b', 'c'])
  }))

test('ETag secrets differ by class, name and customer, and outlive rotation', () =>
  withKeyring(async keyring => {
    const uses = [service, named('payroll'), named('archive'), customer, { by: 'customer', key: contentKey } as const]
    const secrets = uses.map(use => keyring.etagSecret(use).toString('hex'))
    assert.equal(new Set(secrets).size, uses.length)
    await keyring.rotate('service')
    await keyring.rotate('named')
    await keyring.rotate('named', 'payroll')
    assert.deepEqual(
      uses.map(use => keyring.etagSecret(use).toString('hex')),
      secrets,
    )
  }))

test('names that are empty, too long or broken text are refused', () =>
  withKeyring(async keyring => {
    for (const name of ['', 'n'.repeat(2049), 'bad\ud800']) {
      assert.throws(() => keyring.wrap(contentKey, named(name)), RangeError)
      await assert.rejects(keyring.disable(name), RangeError)
    }
    const long = named('n'.repeat(2048), 'c'.repeat(8192))
    assert.ok(keyring.unwrap(keyring.wrap(contentKey, long), long).equals(contentKey))
  }))

test('no secret shows in print, in JSON or in an error', () =>
  withKeyring(async keyring => {
    const use = customer as { key: Buffer }
    const shown = [inspect(keyring, { depth: 9, showHidden: true }), JSON.stringify(keyring), String(keyring)]
    const fail = (run: () => unknown) => {
      try {
        run()
      } catch (error) {
        shown.push(inspect(error, { depth: 9, showHidden: true }), String((error as Error).stack))
        return
      }
      assert.fail('an error was expected')
    }
    fail(() => keyring.unwrap(keyring.wrap(contentKey, service), customer))
    fail(() => keyring.unwrap(keyring.wrap(contentKey, customer), { by: 'customer', key: contentKey }))
    fail(() => keyring.wrap(contentKey, { by: 'customer', key: use.key.subarray(1) }))
    fail(() => keyring.storageKey(99))
    for (const secret of [keyring.storageKey().key, contentKey, use.key]) {
      const forms = [
        secret.toString('hex'),
        secret.toString('base64'),
        inspect(secret).slice(8, 60),
        [...secret].join(),
      ]
      for (const text of shown) for (const form of forms) assert.ok(!text.includes(form), text)
    }
    assert.match(shown[0]!, /^Keyring \{"id":"[0-9a-f]{32}","generation":1\}$/)
  }))

test('the layout is the documented one', async () => {
  let draws = 0
  const random: Random = { bytes: count => Buffer.alloc(count, ++draws), fraction: () => 0 }
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-keyring-'))
  try {
    const keyring = await Keyring.open({ storage: keyringInFolder(realDisk, folder), random })
    const key = Buffer.alloc(32, 9)
    const digest = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')
    assert.equal(
      digest(keyring.wrap(key, named('payroll', 'dept=7'))),
      '326f3fb3e3a61e4a57a30c2ad30897bbf2fb11bc7aab284fe0af79f49aa5fd22',
    )
    assert.equal(digest(keyring.wrap(key, service)), '7260c2b027340a1484bc4aca85b02ac362d67a73b0cdf8d1f477e70e9e429a10')
    assert.equal(
      digest(keyring.wrap(key, { by: 'customer', key: Buffer.alloc(32, 8) })),
      '7b7c9da9dd681132df657dc1f90c984c0a4d43e1a6aab41329d1d7a2dc54a3f8',
    )
    assert.equal(
      digest(keyring.etagSecret(named('payroll', 'any'))),
      '76c386b065bcecccd694b84a17ffccbfef78aac68748d18949b4289f4208fbdc',
    )
  } finally {
    await rm(folder, { recursive: true })
  }
})

test('names that several gateways add at once are all there', async () => {
  let stored: KeyringContents | undefined
  const storage = (): KeyringStorage => {
    let read: KeyringContents | undefined
    return {
      place: 'memory',
      async read() {
        read = stored
        return stored
      },
      async write(contents) {
        if (stored !== read) throw new KeyringChanged()
        stored = contents
        read = contents
      },
    }
  }
  const open = (): Promise<Keyring> => Keyring.open({ storage: storage(), random: systemRandom, strict: true })
  const gateways = [await open(), await open(), await open()]
  await Promise.all(gateways.map((keyring, i) => keyring.have(['payroll', `key-${i}`])))
  assert.deepEqual((await open()).keyNames().sort(), ['key-0', 'key-1', 'key-2', 'payroll'])
})
