/** Listings of a random sequence, each read page by page to its end. */
import assert from 'node:assert/strict'
import type { ListPage } from '../../src/store/listing/listing-page.ts'
import { oneOf } from './fixture.ts'
import { type ModelPage, modelObjects, modelUploads, modelVersions } from './model-listing.ts'
import { KEYS, type Run } from './model-run.ts'

const listWish = (run: Run) => ({
  prefix: oneOf(run.random, ['', '', 'a', 'a/', 'ü', 'zz', '\u{10000}']),
  delimiter: oneOf(run.random, ['', '', '/', 'c', 'a/']),
  limit: oneOf(run.random, [0, 1, 2, 3, 1000]),
})

function samePage<T, M>(real: ListPage<T>, model: ModelPage<M>, same: (real: T, model: M) => void): void {
  assert.deepEqual(real.prefixes, model.prefixes)
  assert.equal(real.next?.key, model.next)
  assert.equal(real.items.length, model.items.length)
  for (const [i, item] of real.items.entries()) same(item, model.items[i]!)
}

export async function listObjects(run: Run): Promise<void> {
  const bucket = run.bucket()
  const wish = listWish(run)
  let after: string | undefined = run.chance(0.3) ? oneOf(run.random, [...KEYS, 'a/', 'a/b!', 'a\0']) : undefined
  run.note(`list ${bucket} ${JSON.stringify({ ...wish, after })}`)
  for (let pages = 0; pages < 20; pages++) {
    const done = await run.both(
      () => run.store.listing.objects({ bucket, ...wish, after }),
      () => modelObjects(run.model.bucket(bucket), { ...wish, after }),
    )
    if (done === undefined) return
    samePage(done.real, done.model, (real, model) => {
      assert.equal(real.key, model.key)
      run.sameShown(real.version, model.version)
    })
    after = done.real.next?.key
    if (after === undefined) return
  }
}

export async function listVersions(run: Run): Promise<void> {
  const bucket = run.bucket()
  const wish = listWish(run)
  run.note(`versions ${bucket} ${JSON.stringify(wish)}`)
  let after: { key: string; versionId: string | undefined } | undefined
  for (let pages = 0; pages < 50; pages++) {
    const done = await run.both(
      () => run.store.listing.versions({ bucket, ...wish, ...(after === undefined ? {} : { after }) }),
      () => modelVersions(run.model.bucket(bucket), { ...wish, after }),
    )
    if (done === undefined) return
    samePage(done.real, done.model, (real, model) => {
      assert.deepEqual([real.key, real.latest], [model.key, model.latest])
      run.sameShown(real.version, model.version)
    })
    const { next, items } = done.real
    if (next === undefined) return
    after = { key: next.key, versionId: next.isPrefix ? undefined : items.at(-1)!.version.id }
  }
}

export async function listUploads(run: Run): Promise<void> {
  const bucket = run.bucket()
  const wish = listWish(run)
  run.note(`uploads ${bucket} ${JSON.stringify(wish)}`)
  let after: { key: string; uploadId: string | undefined } | undefined
  for (let pages = 0; pages < 50; pages++) {
    const place =
      after === undefined
        ? {}
        : { after: { key: after.key, ...(after.uploadId === undefined ? {} : { uploadId: after.uploadId }) } }
    const done = await run.both(
      () => run.store.listing.uploads({ bucket, ...wish, ...place }),
      () => modelUploads(run.model.bucket(bucket), { ...wish, after }),
    )
    if (done === undefined) return
    samePage(done.real, done.model, (real, model) => {
      assert.deepEqual([real.key, real.id.toString('hex')], [model.key, model.id])
    })
    const { next, items } = done.real
    if (next === undefined) return
    after = { key: next.key, uploadId: next.isPrefix ? undefined : items.at(-1)!.id.toString('hex') }
  }
}
