import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock } from '../../src/lib/clock.ts'
import { CompletedUploadExpiry } from '../../src/maintenance/completed-upload-expiry.ts'
import { runUntilIdle } from '../../src/maintenance/maintenance-step.ts'
import { openMemory } from '../../src/server/compose.ts'
import type { UploadName } from '../../src/store/uploads/upload-record.ts'

const HOUR_MS = 3_600_000

test('R96: the result of a completed upload is kept for one day', async () => {
  const clock = new ManualClock()
  const parts = await openMemory({ clock })
  const { store } = parts
  try {
    await store.buckets.create({ name: 'bucket', owner: 'me', lockEnabled: false })
    const names: UploadName[] = []
    // More than one page of them.
    for (let i = 0; i < 250; i++) {
      const key = `k${i}`
      const { id } = await store.uploads.create({ bucket: 'bucket', key, initiator: 'me', owner: 'me' })
      const name = { bucket: 'bucket', key, uploadId: id.toString('hex') }
      const { etag } = await store.uploads.putPart({ ...name, number: 1, body: bytes('x') })
      const made = await store.completion.complete({ ...name, parts: [{ number: 1, etag }] })
      assert.equal((await store.completion.find(name))?.etag, made.etag)
      assert.equal(await store.completion.find({ ...name, key: 'other' }), undefined)
      names.push(name)
      if (i === 219) clock.move(2 * HOUR_MS)
    }
    const left = async (): Promise<number> => {
      const found = await Promise.all(names.map(name => store.completion.find(name)))
      return found.filter(one => one !== undefined).length
    }
    await runUntilIdle(new CompletedUploadExpiry(store.context, store.completion))
    assert.equal(await left(), 250)
    clock.move(23 * HOUR_MS)
    await runUntilIdle(new CompletedUploadExpiry(store.context, store.completion))
    assert.equal(await left(), 30)
    clock.move(2 * HOUR_MS)
    await runUntilIdle(new CompletedUploadExpiry(store.context, store.completion))
    assert.equal(await left(), 0)
  } finally {
    await parts.close()
  }
})

async function* bytes(text: string): AsyncGenerator<Buffer> {
  yield Buffer.from(text)
}
