import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Store } from '../../src/store/store.ts'
import { below, chance, ENGINES, faultOf, freshStore, makeBucket, OWNER, put, remove } from './fixture.ts'

const bucket = 'bucket'
const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))

async function fill(store: Store, keys: readonly string[]): Promise<void> {
  await makeBucket(store, bucket)
  for (const key of keys) await put(store, bucket, key, key)
}

type Wish = { prefix?: string; delimiter?: string; after?: string; limit?: number }

async function shown(
  store: Store,
  wish: Wish = {},
): Promise<{ keys: string[]; prefixes: readonly string[]; next: string | undefined }> {
  const { items, prefixes, next } = await store.listing.objects({ bucket, limit: 1000, ...wish })
  return { keys: items.map(({ key }) => key), prefixes, next: next?.key }
}

/** All pages of a listing, joined in order. */
async function paged(store: Store, wish: Wish & { limit: number }): Promise<string[]> {
  const out: string[] = []
  for (let after = wish.after; ; ) {
    const page = await shown(store, { ...wish, ...(after === undefined ? {} : { after }) })
    out.push(...[...page.keys, ...page.prefixes].sort(byBytes))
    assert.ok(page.keys.length + page.prefixes.length <= wish.limit)
    if (page.next === undefined) return out
    assert.equal(page.keys.length + page.prefixes.length, wish.limit, 'a page that has a successor is full')
    after = page.next
  }
}

/** Every boundary of UTF-8 and of the key encoding, and keys that UTF-16 would sort differently. */
const ODD = [
  '\x01',
  ' ',
  '~',
  '\x7f',
  '\x80',
  'é',
  '߿',
  '\u0800',
  '\ud7ff',
  '\ue000',
  '\uffff',
  '\u{10000}',
  '\u{10ffff}',
  'a',
  'a\x01',
  'a\x01b',
  'a ',
  'a/',
  'aa',
  'ÿ',
  'þ',
]

for (const { name, run } of ENGINES) {
  test(`${name}: ListObjects: keys come in the order of their UTF-8 bytes`, () =>
    run(async store => {
      await fill(store, ODD)
      const sorted = [...ODD].sort(byBytes)
      assert.deepEqual((await shown(store)).keys, sorted)
      for (const [i, key] of sorted.entries()) {
        assert.deepEqual((await shown(store, { after: key })).keys, sorted.slice(i + 1), JSON.stringify(key))
        assert.deepEqual(
          (await shown(store, { prefix: key })).keys,
          sorted.filter(other => other.startsWith(key)),
        )
      }
    }))

  test(`${name}: ListObjects: markers and prefixes may be any text, even invalid keys`, () =>
    run(async store => {
      await fill(store, ['a', 'a\x01', 'ab', 'b'])
      assert.deepEqual((await shown(store, { after: 'a\0' })).keys, ['a\x01', 'ab', 'b'])
      assert.deepEqual((await shown(store, { after: 'a\0zzz' })).keys, ['a\x01', 'ab', 'b'])
      assert.deepEqual((await shown(store, { after: 'a'.repeat(5000) })).keys, ['ab', 'b'])
      assert.deepEqual((await shown(store, { after: '' })).keys, ['a', 'a\x01', 'ab', 'b'])
      for (const prefix of ['a\0', '\0', 'a'.repeat(1025), 'a'.repeat(5000)]) {
        assert.deepEqual(await shown(store, { prefix }), { keys: [], prefixes: [], next: undefined })
        const versions = await store.listing.versions({ bucket, limit: 10, prefix })
        assert.deepEqual(versions.items, [])
      }
      const uploads = { bucket, limit: 10, after: { key: 'a'.repeat(5000), uploadId: 'x'.repeat(5000) } }
      assert.deepEqual((await store.listing.uploads(uploads)).items, [])
    }))
}

test('ListObjects: each common prefix counts once and is skipped by one seek', async () => {
  const { store } = await freshStore()
  await fill(store, ['a', 'b/1', 'b/2', 'b/c/3', 'c', 'd/', 'd/e', 'e'])
  assert.deepEqual(await shown(store, { delimiter: '/' }), {
    keys: ['a', 'c', 'e'],
    prefixes: ['b/', 'd/'],
    next: undefined,
  })
  assert.deepEqual(await shown(store, { delimiter: '/', prefix: 'b/' }), {
    keys: ['b/1', 'b/2'],
    prefixes: ['b/c/'],
    next: undefined,
  })
  assert.deepEqual(await shown(store, { delimiter: '/', limit: 2 }), { keys: ['a'], prefixes: ['b/'], next: 'b/' })
  assert.deepEqual(await shown(store, { delimiter: '/', limit: 2, after: 'b/' }), {
    keys: ['c'],
    prefixes: ['d/'],
    next: 'd/',
  })
  assert.deepEqual(await shown(store, { delimiter: '/', after: 'd/' }), { keys: ['e'], prefixes: [], next: undefined })
  // A marker inside a prefix: a client that got this far has seen the prefix.
  assert.deepEqual(await shown(store, { delimiter: '/', after: 'b/1' }), {
    keys: ['c', 'e'],
    prefixes: ['d/'],
    next: undefined,
  })
  assert.deepEqual(await shown(store, { delimiter: '/', after: 'b/c/3' }), {
    keys: ['c', 'e'],
    prefixes: ['d/'],
    next: undefined,
  })
  assert.deepEqual(await shown(store, { delimiter: '/2' }), {
    keys: ['a', 'b/1', 'b/c/3', 'c', 'd/', 'd/e', 'e'],
    prefixes: ['b/2'],
    next: undefined,
  })
})

test('ListObjects: a delimiter of high code points, and prefixes that end in them', async () => {
  const { store } = await freshStore()
  await fill(store, ['x\u{10ffff}a', 'x\u{10ffff}b', 'x\u{10ffff}\u{10ffff}', 'y\uffffz', 'z'])
  assert.deepEqual(await shown(store, { delimiter: '\u{10ffff}' }), {
    keys: ['y\uffffz', 'z'],
    prefixes: ['x\u{10ffff}'],
    next: undefined,
  })
  assert.deepEqual(await shown(store, { delimiter: '\uffff', after: 'y\uffff' }), {
    keys: ['z'],
    prefixes: [],
    next: undefined,
  })
  assert.deepEqual((await shown(store, { prefix: 'x\u{10ffff}\u{10ffff}' })).keys, ['x\u{10ffff}\u{10ffff}'])
})

test('ListObjects: a limit of zero returns an empty page that is not truncated', async () => {
  const { store } = await freshStore()
  await fill(store, ['a'])
  assert.deepEqual(await shown(store, { limit: 0 }), { keys: [], prefixes: [], next: undefined })
  const versions = await store.listing.versions({ bucket, limit: 0 })
  assert.deepEqual([versions.items, versions.next], [[], undefined])
})

test('listings: pages of any size contain what one page contains', async () => {
  const { store } = await freshStore()
  const random = chance(5)
  const letters = ['a', 'b', '/', 'ü', '\uffff', '\u{10000}']
  const keys = new Set<string>()
  while (keys.size < 150) {
    keys.add(Array.from({ length: 1 + below(random, 5) }, () => letters[below(random, letters.length)]!).join(''))
  }
  await fill(store, [...keys])
  for (const delimiter of ['', '/', 'ü', '//']) {
    for (const prefix of ['', 'a', '/', '\uffff']) {
      const whole = await shown(store, { prefix, delimiter })
      const expected = [...whole.keys, ...whole.prefixes].sort(byBytes)
      assert.equal(new Set(expected).size, expected.length)
      for (const limit of [1, 2, 7, 150]) {
        assert.deepEqual(await paged(store, { prefix, delimiter, limit }), expected, `${prefix} ${delimiter} ${limit}`)
      }
    }
  }
})

test('ListObjects: a missing bucket', async () => {
  const { store } = await freshStore()
  assert.equal(await faultOf(store.listing.objects({ bucket, limit: 1 })), 'NoSuchBucket')
  assert.equal(await faultOf(store.listing.versions({ bucket, limit: 1 })), 'NoSuchBucket')
  assert.equal(await faultOf(store.listing.uploads({ bucket, limit: 1 })), 'NoSuchBucket')
})

test('ListObjectVersions: newest first, page by page, also in the middle of a key', async () => {
  const { store } = await freshStore()
  await makeBucket(store, bucket, 'on')
  const expected: [string, string, boolean][] = []
  for (const key of ['a', 'b/x', 'b/y', 'c']) {
    const ids = [(await put(store, bucket, key, '1')).id, (await put(store, bucket, key, '2')).id]
    if (key !== 'c') ids.push((await remove(store, bucket, key)).marker!.id)
    for (const [i, id] of ids.reverse().entries()) expected.push([key, id, i === 0])
  }
  for (const limit of [1, 2, 3, 4, 100]) {
    const got: [string, string, boolean][] = []
    for (let after: { key: string; versionId: string } | undefined; ; ) {
      const page = await store.listing.versions({ bucket, limit, ...(after === undefined ? {} : { after }) })
      got.push(...page.items.map(({ key, version, latest }) => [key, version.id, latest] as [string, string, boolean]))
      if (page.next === undefined) break
      after = { key: page.next.key, versionId: page.items.at(-1)!.version.id }
    }
    assert.deepEqual(got, expected, `pages of ${limit}`)
  }
  const rolled = await store.listing.versions({ bucket, limit: 100, delimiter: '/' })
  assert.deepEqual([rolled.items.length, rolled.prefixes], [5, ['b/']])
  const behind = await store.listing.versions({ bucket, limit: 100, delimiter: '/', after: { key: 'b/' } })
  assert.deepEqual(
    behind.items.map(({ key }) => key),
    ['c', 'c'],
  )
})

test('ListObjectVersions: a page continues after a version that was removed meanwhile', async () => {
  const { store } = await freshStore()
  await makeBucket(store, bucket, 'on')
  const ids: string[] = []
  for (let n = 0; n < 4; n++) ids.unshift((await put(store, bucket, 'key', String(n))).id)
  await remove(store, bucket, 'key', ids[1])
  const after = (versionId: string) => store.listing.versions({ bucket, limit: 10, after: { key: 'key', versionId } })
  assert.deepEqual(
    (await after(ids[1]!)).items.map(({ version }) => version.id),
    ids.slice(2),
  )
  assert.deepEqual((await after(ids[3]!)).items, [])
  assert.equal(await faultOf(after('garbage')), 'InvalidArgument')
})

test('ListObjectVersions: versions older than a removed null version are listed', async () => {
  const { store } = await freshStore()
  await makeBucket(store, bucket, 'on')
  const ids = [(await put(store, bucket, 'key', '1')).id, (await put(store, bucket, 'key', '2')).id]
  await store.buckets.setVersioning(bucket, 'suspended')
  assert.equal((await put(store, bucket, 'key', '3')).id, 'null')
  await store.buckets.setVersioning(bucket, 'on')
  await put(store, bucket, 'key', '4')
  await put(store, bucket, 'later', '5')
  // A client that empties a bucket page by page continues after the versions it has just removed.
  const page = await store.listing.versions({ bucket, limit: 2 })
  assert.equal(page.items.at(-1)!.version.id, 'null')
  for (const { key, version } of page.items) await remove(store, bucket, key, version.id)
  const after = { key: 'key', versionId: 'null' }
  const behind = await store.listing.versions({ bucket, limit: 10, after })
  assert.deepEqual(
    behind.items.map(({ key, version }) => (key === 'key' ? version.id : key)),
    [...ids.reverse(), 'later'],
  )
  for (const { key, version } of behind.items) await remove(store, bucket, key, version.id)
  await store.buckets.remove(bucket)
})

test('ListMultipartUploads: by key, then by when they were begun', async () => {
  const { store, clock } = await freshStore()
  await makeBucket(store, bucket)
  const begun: [string, string][] = []
  for (const key of ['b', 'a', 'b', 'c/1', 'a']) {
    clock.move(10)
    const { id } = await store.uploads.create({ bucket, key, initiator: OWNER, owner: OWNER })
    begun.push([key, id.toString('hex')])
  }
  const expected = [begun[1], begun[4], begun[0], begun[2], begun[3]]
  for (const limit of [1, 2, 10]) {
    const got: [string, string][] = []
    for (let after: { key: string; uploadId: string } | undefined; ; ) {
      const page = await store.listing.uploads({ bucket, limit, ...(after === undefined ? {} : { after }) })
      got.push(...page.items.map(({ key, id }) => [key, id.toString('hex')] as [string, string]))
      if (page.next === undefined) break
      after = { key: page.next.key, uploadId: got.at(-1)![1] }
    }
    assert.deepEqual(got, expected)
  }
  const rolled = await store.listing.uploads({ bucket, limit: 10, delimiter: '/', after: { key: 'b' } })
  assert.deepEqual([rolled.items.length, rolled.prefixes], [0, ['c/']])
})

/** A store, and the number of records that its scans read during an action. */
async function countingStore(): Promise<{ store: Store; read: (during: () => Promise<void>) => Promise<number> }> {
  let found = 0
  const { store } = await freshStore(1, meta => ({
    get: key => meta.get(key),
    commit: tx => meta.commit(tx),
    close: () => meta.close(),
    scanMap: async (range, limit, make) => {
      const made = await meta.scanMap(range, limit, make)
      found += made.length
      return made
    },
    scan: async (range, limit, reverse) => {
      const entries = await meta.scan(range, limit, reverse)
      found += entries.length
      return entries
    },
  }))
  const read = async (during: () => Promise<void>): Promise<number> => {
    found = 0
    await during()
    return found
  }
  return { store, read }
}

test('A86: a plain listing reads no more records than it shows, however much is deleted in between', async () => {
  const { store, read } = await countingStore()
  await makeBucket(store, bucket, 'on')
  for (let n = 0; n < 60; n++) {
    const key = `key-${String(n).padStart(3, '0')}`
    await put(store, bucket, key, 'old')
    await put(store, bucket, key, 'new')
    if (n % 20 !== 0) await remove(store, bucket, key)
  }
  assert.ok(
    (await read(async () => {
      assert.deepEqual((await shown(store, { limit: 10 })).keys, ['key-000', 'key-020', 'key-040'])
    })) <= 11,
  )
})

test('A86: a listing of 1,000 keys reads 1,001 records, one of versions about three times that', async () => {
  const { store, read } = await countingStore()
  await makeBucket(store, bucket)
  for (let n = 0; n < 2100; n++) await put(store, bucket, `key-${String(n).padStart(4, '0')}`, 'x')
  const plain = await read(async () => {
    const page = await store.listing.objects({ bucket, limit: 1000 })
    assert.deepEqual([page.items.length, page.next?.key], [1000, 'key-0999'])
  })
  assert.equal(plain, 1001)
  const versions = await read(async () => {
    const page = await store.listing.versions({ bucket, limit: 1000 })
    assert.deepEqual([page.items.length, page.next?.key], [1000, 'key-0999'])
  })
  assert.ok(versions <= 3 * 1001, `${versions} records were read`)
})

test('a page that continues inside a key marks the current latest version', async () => {
  const { store } = await freshStore()
  await makeBucket(store, 'bucket', 'on')
  const ids: string[] = []
  for (let n = 0; n < 3; n++) ids.push((await put(store, 'bucket', 'key', `${n}`)).id)
  const after = { key: 'key', versionId: ids[2]! }
  const older = async () => (await store.listing.versions({ bucket: 'bucket', limit: 9, after })).items
  assert.deepEqual(
    (await older()).map(({ version, latest }) => [version.id, latest]),
    [
      [ids[1], false],
      [ids[0], false],
    ],
  )
  await remove(store, 'bucket', 'key', ids[2])
  assert.deepEqual(
    (await older()).map(({ version, latest }) => [version.id, latest]),
    [
      [ids[1], true],
      [ids[0], false],
    ],
  )
})
