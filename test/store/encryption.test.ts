import assert from 'node:assert/strict'
import { createCipheriv } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { CIPHER, CIPHER_OPTIONS, deriveKey, NONCE_BYTES } from '../../src/crypto/derive.ts'
import { unwrapBlobKey } from '../../src/crypto/key-wrap.ts'
import { UnknownKeyVersion } from '../../src/crypto/keyring.ts'
import { fsck } from '../../src/maintenance/fsck.ts'
import type { Version } from '../../src/model/version.ts'
import { openFolder } from '../../src/server/compose.ts'
import { requireBlob, requireContentPage } from '../../src/store/content/read-content.ts'
import { contentKeyOf, type KeyChoice } from '../../src/store/keys/content-keys.ts'
import type { Store } from '../../src/store/store.ts'
import {
  bytesOf,
  faultOf,
  freshStore,
  makeBucket,
  OWNER,
  openOn,
  PART_BYTES_MIN,
  payload,
  remove,
  settle,
  withFolder,
} from './fixture.ts'
import { md5 } from './model.ts'

const CUSTOMER_KEY = Buffer.from('0123456789abcdef0123456789ABCDEF')
const OTHER_KEY = Buffer.alloc(32, 9)
const CHOICES: Readonly<Record<string, KeyChoice>> = {
  service: { by: 'service' },
  named: { by: 'named', name: 'tenant-7', context: Buffer.from('{"a":"b"}'), bucketKey: true },
  customer: { by: 'customer', key: CUSTOMER_KEY, md5: 'md5-of-key' },
}

const keyOf = (choice: KeyChoice | undefined): { customerKey?: Buffer } =>
  choice?.by === 'customer' ? { customerKey: choice.key } : {}
const asked = (choice: KeyChoice | undefined): { encryption?: KeyChoice } =>
  choice === undefined ? {} : { encryption: choice }

function putAs(store: Store, key: string, bytes: Buffer, choice: KeyChoice | undefined): Promise<Version> {
  return store.objects.put({ bucket: 'bucket', key, owner: OWNER, body: [bytes], ...asked(choice) })
}

async function uploadAs(
  store: Store,
  key: string,
  bodies: readonly Buffer[],
  choice: KeyChoice | undefined,
): Promise<Version> {
  const { id } = await store.uploads.create({ bucket: 'bucket', key, initiator: OWNER, owner: OWNER, ...asked(choice) })
  const upload = { bucket: 'bucket', key, uploadId: id.toString('hex') }
  const parts = []
  for (const [i, body] of bodies.entries()) {
    parts.push(await store.uploads.putPart({ ...upload, number: i + 1, body: [body], ...keyOf(choice) }))
  }
  return store.completion.complete({ ...upload, parts })
}

/** The stages of an object's first bytes, computed from its keys, and those keys themselves. */
async function stages(store: Store, version: Version, plain: Buffer, customerKey: Buffer | undefined) {
  const { context: engine } = store
  const contentKey = (await contentKeyOf(engine, version.encryption, customerKey))!
  const { content } = version
  let sealed: { id: Buffer; key: Buffer; storageKey: number }
  if (content.kind === 'inline') sealed = content.seal!
  else {
    const [slice] =
      content.kind === 'slices' ? content.slices : (await requireContentPage(engine, content.id, 0))[0]!.slices
    sealed = { id: slice!.id, key: slice!.key!, storageKey: (await requireBlob(engine, slice!.id)).storageKey! }
  }
  const blobKey = unwrapBlobKey(contentKey, sealed.key, sealed.id)
  const outerKey = deriveKey(engine.keyring.storageKey(sealed.storageKey).key, 'outer frames', sealed.id)
  const nonce = Buffer.alloc(NONCE_BYTES)
  const inner = createCipheriv(CIPHER, blobKey, nonce, CIPHER_OPTIONS).update(plain.subarray(0, 600))
  const outer = createCipheriv(CIPHER, outerKey, nonce, CIPHER_OPTIONS).update(inner)
  return { inner, outer, contentKey, blobKey }
}

async function everyFile(folder: string): Promise<Buffer[]> {
  const names = await readdir(folder, { recursive: true, withFileTypes: true })
  return Promise.all(names.filter(entry => entry.isFile()).map(entry => readFile(join(entry.parentPath, entry.name))))
}

test('R25, R26: the data folder contains no plaintext, inner ciphertext or key', async () => {
  await withFolder(async folder => {
    const hidden: [string, Buffer][] = [['customer key', CUSTOMER_KEY]]
    const shown: [string, Buffer][] = []
    const { store, close } = await openFolder({ folder, durability: 'os' })
    await makeBucket(store, 'bucket')
    const plain = payload(3000, 77)
    await putAs(store, 'plain', plain, undefined)
    shown.push(['control: plaintext of a plain object', plain.subarray(100, 132)])
    let seed = 0
    for (const [by, choice] of Object.entries(CHOICES)) {
      for (const size of [1000, 100_000, 1_500_000, PART_BYTES_MIN]) {
        const bytes = payload(size, ++seed)
        const key = `${by}-${size}`
        const version =
          size === PART_BYTES_MIN
            ? await uploadAs(store, key, [bytes, payload(99)], choice)
            : await putAs(store, key, bytes, choice)
        const { inner, outer, contentKey, blobKey } = await stages(store, version, bytes, keyOf(choice).customerKey)
        for (const at of [64, 500]) {
          hidden.push(
            [`${key}: plaintext`, bytes.subarray(at, at + 32)],
            [`${key}: inner`, inner.subarray(at, at + 32)],
          )
          shown.push([`${key}: outer`, outer.subarray(at, at + 32)])
        }
        hidden.push([`${key}: content key`, contentKey], [`${key}: blob key`, blobKey])
      }
    }
    await close()
    const files = await everyFile(folder)
    for (const [what, bytes] of hidden) assert.ok(!files.some(file => file.includes(bytes)), `${what} is in the folder`)
    // Known contents are found in the same way, so the search would have found the rest.
    for (const [what, bytes] of shown)
      assert.ok(
        files.some(file => file.includes(bytes)),
        `${what} is not in the folder`,
      )
  })
})

test('R26: encrypted objects of every size and key are read whole and in ranges', async () => {
  const { store } = await freshStore()
  await makeBucket(store, 'bucket')
  for (const choice of Object.values(CHOICES)) {
    for (const size of [0, 1, 4096, 4097, 65_536, 65_537, 200_000]) {
      const bytes = payload(size, 3)
      await putAs(store, 'key', bytes, choice)
      const which = { bucket: 'bucket', key: 'key' }
      assert.ok((await bytesOf(store, which, keyOf(choice))).equals(bytes))
      for (const [start, end] of [
        [0, 1],
        [65_535, 65_537],
        [100, size],
        [size - 1, size],
      ] as const) {
        if (start < 0 || start > end || end > size) continue
        const got = await bytesOf(store, which, { ...keyOf(choice), start, end })
        assert.ok(got.equals(bytes.subarray(start, end)), `${choice.by} ${size} ${start}–${end}`)
      }
    }
  }
})

test('R25: a customer key is needed, must be the right one, and is refused where there is none', async () => {
  const { store } = await freshStore()
  await makeBucket(store, 'bucket')
  const bytes = payload(5000)
  const open = (key: string, customerKey?: Buffer) =>
    faultOf(store.objects.open({ bucket: 'bucket', key }, customerKey))
  await putAs(store, 'customer', bytes, CHOICES.customer)
  assert.equal(await open('customer'), 'InvalidRequest')
  assert.equal(await open('customer', OTHER_KEY), 'AccessDenied')
  for (const [key, choice] of [
    ['plain', undefined],
    ['service', CHOICES.service],
    ['named', CHOICES.named],
  ] as const) {
    await putAs(store, key, bytes, choice)
    assert.equal(await open(key, CUSTOMER_KEY), 'InvalidRequest', key)
  }
  assert.equal(store.context.readers.count, 0)
  const { id } = await store.uploads.create({
    bucket: 'bucket',
    key: 'up',
    initiator: OWNER,
    owner: OWNER,
    ...asked(CHOICES.customer),
  })
  const part = (customerKey?: Buffer) => {
    const request = { bucket: 'bucket', key: 'up', uploadId: id.toString('hex'), number: 1, body: [bytes] }
    return faultOf(store.uploads.putPart({ ...request, ...(customerKey === undefined ? {} : { customerKey }) }))
  }
  assert.equal(await part(), 'InvalidRequest')
  assert.equal(await part(OTHER_KEY), 'AccessDenied')
})

test('R54: a copy needs the key of its source, and refuses one where there is none', async () => {
  const { store } = await freshStore()
  await makeBucket(store, 'bucket')
  await putAs(store, 'customer', payload(5000), CHOICES.customer)
  const copy = (key: string, customerKey?: Buffer) =>
    faultOf(
      store.copies.copy({
        from: { bucket: 'bucket', key },
        to: { bucket: 'bucket', key: 'copy' },
        owner: OWNER,
        ...(customerKey === undefined ? {} : { customerKey }),
      }),
    )
  assert.equal(await copy('customer'), 'InvalidRequest')
  assert.equal(await copy('customer', OTHER_KEY), 'AccessDenied')
  for (const [key, choice] of [
    ['plain', undefined],
    ['service', CHOICES.service],
  ] as const) {
    await putAs(store, key, payload(5000), choice)
    assert.equal(await copy(key, CUSTOMER_KEY), 'InvalidRequest', key)
  }
})

test('R53 R16: copies between all kinds of keys are readable, and server keys share their bytes', async () => {
  const { store } = await freshStore()
  await makeBucket(store, 'bucket')
  const kinds: Record<string, KeyChoice | undefined> = {
    plain: undefined,
    ...CHOICES,
    second: { by: 'named', name: 'other', context: undefined, bucketKey: false } as const,
  }
  for (const [source, before] of Object.entries(kinds)) {
    for (const size of [100, 70_000]) {
      const bytes = payload(size, 8)
      const made = await putAs(store, 'source', bytes, before)
      for (const [target, after] of Object.entries(kinds)) {
        const blobs = (await fsck(store.context)).blobs
        const from = { bucket: 'bucket', key: 'source' }
        const to = { bucket: 'bucket', key: 'copy' }
        const { version } = await store.copies.copy({ from, to, owner: OWNER, ...keyOf(before), ...asked(after) })
        const name = `${source} to ${target}, ${size} bytes`
        const managed = (choice?: KeyChoice) => choice !== undefined && choice.by !== 'customer'
        const shared = (managed(before) && managed(after)) || (before === undefined && after === undefined)
        const written = size > 4096 && !shared ? 1 : 0
        assert.equal((await fsck(store.context)).blobs - blobs, written, name)
        assert.ok((await bytesOf(store, to, keyOf(after))).equals(bytes), name)
        assert.equal(version.encryption?.by, after?.by)
        const keyed =
          after?.by === 'named' || after?.by === 'customer' || (before?.by === 'named' && after?.by === 'service')
        assert.equal(version.etag === md5(bytes), !keyed, name)
        // Clients compare 32 digits with the MD5, unless the object is under a named or customer key.
        assert.equal(version.etag.endsWith('-1'), before?.by === 'named' && after?.by === 'service', name)
        if (before === after && before?.by !== 'customer') assert.equal(version.etag, made.etag)
        await remove(store, 'bucket', 'copy')
        await settle(store)
      }
    }
  }
})

test('R16: the tag under a named or customer key is stable, and another one for each key', async () => {
  const { store } = await freshStore()
  await makeBucket(store, 'bucket')
  const bytes = payload(5000)
  const tags = new Set<string>([md5(bytes)])
  const choices: KeyChoice[] = [
    CHOICES.named!,
    CHOICES.customer!,
    { by: 'named', name: 'other', context: undefined, bucketKey: false },
    { by: 'customer', key: OTHER_KEY, md5: 'x' },
  ]
  for (const choice of choices) {
    const [one, two] = [await putAs(store, 'one', bytes, choice), await putAs(store, 'two', bytes, choice)]
    assert.equal(one.etag, two.etag)
    assert.match(one.etag, /^[0-9a-f]{32}$/)
    tags.add(one.etag)
  }
  assert.equal(tags.size, choices.length + 1)
})

test('a part shared between encrypted objects is decrypted with the new object’s key alone', async () => {
  const { store } = await freshStore()
  await makeBucket(store, 'bucket')
  const bytes = payload(PART_BYTES_MIN + 5000, 4)
  for (const [by, choice] of Object.entries(CHOICES)) {
    await uploadAs(store, 'source', [bytes.subarray(0, PART_BYTES_MIN), bytes.subarray(PART_BYTES_MIN)], choice)
    const blobs = (await fsck(store.context)).blobs
    const { id } = await store.uploads.create({
      bucket: 'bucket',
      key: 'made',
      initiator: OWNER,
      owner: OWNER,
      ...asked(CHOICES.service),
    })
    const upload = { bucket: 'bucket', key: 'made', uploadId: id.toString('hex') }
    const range = { start: PART_BYTES_MIN - 50, end: PART_BYTES_MIN + 100 }
    const source = choice.by === 'customer' ? { sourceCustomerKey: CUSTOMER_KEY } : {}
    const part = await store.uploads.copyPart({
      ...upload,
      number: 1,
      from: { bucket: 'bucket', key: 'source' },
      range,
      ...source,
    })
    await store.completion.complete({ ...upload, parts: [part] })
    assert.equal((await fsck(store.context)).blobs, blobs, by)
    await remove(store, 'bucket', 'source')
    await settle(store)
    const got = await bytesOf(store, { bucket: 'bucket', key: 'made' })
    assert.ok(got.equals(bytes.subarray(range.start, range.end)), by)
    await remove(store, 'bucket', 'made')
    await settle(store)
  }
})

test('P23: after every rotation and restart all objects are readable, new ones by the new key', async () => {
  const fresh = await freshStore()
  const { store } = fresh
  await makeBucket(store, 'bucket')
  const bytes = payload(70_000, 5)
  for (const [by, choice] of Object.entries(CHOICES)) await putAs(store, `${by}-old`, bytes, choice)
  await putAs(store, 'service-inline', bytes.subarray(0, 50), CHOICES.service)
  const { keyring } = store.context
  for (const what of ['service', 'storage', 'named'] as const) await keyring.rotate(what)
  await keyring.rotate('named', 'tenant-7')
  for (const [by, choice] of Object.entries(CHOICES)) await putAs(store, `${by}-new`, bytes, choice)
  const again = await openOn(fresh)
  for (const opened of [store, again]) {
    for (const [by, choice] of Object.entries(CHOICES)) {
      for (const age of ['old', 'new']) {
        const got = await bytesOf(opened, { bucket: 'bucket', key: `${by}-${age}` }, keyOf(choice))
        assert.ok(got.equals(bytes), `${by} ${age}`)
      }
    }
    const inline = await bytesOf(opened, { bucket: 'bucket', key: 'service-inline' })
    assert.ok(inline.equals(bytes.subarray(0, 50)))
  }
  const head = (key: string) => store.objects.head({ bucket: 'bucket', key })
  const [older, newer] = [await head('service-old'), await head('service-new')]
  assert.equal(keyring.isCurrent(older.encryption!.wrappedKey), false)
  assert.equal(keyring.isCurrent(newer.encryption!.wrappedKey), true)
  await keyring.disable('tenant-7')
  assert.equal(await faultOf(store.objects.open({ bucket: 'bucket', key: 'named-old' })), 'KMS.DisabledException')
  await keyring.enable('tenant-7')
  assert.ok((await bytesOf(store, { bucket: 'bucket', key: 'named-old' })).equals(bytes))
})

test('P23: a process unaware of a rotation reads, copies and extends objects under the new keys', async () => {
  const ground = await freshStore()
  const { store } = ground
  await makeBucket(store, 'bucket')
  const begin = () =>
    store.uploads.create({ bucket: 'bucket', key: 'p', owner: OWNER, initiator: OWNER, ...asked(CHOICES.named) })
  for (const what of ['service', 'storage', 'named'] as const) {
    // A separate keyring, read before the rotation.
    const late = () => openOn(ground)
    const readers = [await late(), await late(), await late()] as const
    await store.context.keyring.rotate(what)
    for (const size of [100, 10_000, 100_000]) {
      const bytes = payload(size)
      await putAs(store, 'service', bytes, CHOICES.service)
      await putAs(store, 'named', bytes, CHOICES.named)
      for (const key of ['service', 'named']) {
        assert((await bytesOf(readers[0], { bucket: 'bucket', key })).equals(bytes), `${what} ${key} ${size}`)
        const from = { bucket: 'bucket', key }
        const to = { bucket: 'bucket', key: 'copy' }
        await readers[1].copies.copy({ from, to, owner: OWNER, encryption: CHOICES.service! })
        assert((await bytesOf(readers[1], to)).equals(bytes), `${what} ${key} ${size}: its copy`)
      }
    }
    const upload = await begin()
    const name = { bucket: 'bucket', key: 'p', uploadId: upload.id.toString('hex') }
    await readers[2].uploads.putPart({ ...name, number: 1, body: [payload(100)] })
  }
})

test('an unknown key version is an error, after the keyring file was read again once', async () => {
  const { store } = await freshStore()
  let reads = 0
  const { keyring } = store.context
  const reload = keyring.reload.bind(keyring)
  keyring.reload = () => {
    reads++
    return reload()
  }
  await assert.rejects(
    keyring.upToDate(() => keyring.storageKey(7)),
    UnknownKeyVersion,
  )
  assert.equal(reads, 1)
})
