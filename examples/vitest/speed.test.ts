/** Not a test of anything but patience: says how long a thousand objects take, with the SDK and everything. */
import { DeleteObjectCommand, GetObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3'
import { Holdfast } from 'holdfast'
import { test } from 'vitest'

const OBJECTS = 1_000
const AT_ONCE = 20

test('a thousand objects: put, got and deleted', async () => {
  const times: string[] = []
  const before = process.cpuUsage()
  let last = performance.now()
  const lap = (name: string): void => {
    const now = performance.now()
    times.push(`${name} ${Math.round(now - last)} ms`)
    last = now
  }
  const hf = await Holdfast.start({ buckets: ['photos'] })
  lap('start')
  const s3 = new S3Client(hf.s3ClientConfig())
  const each = async (step: (Key: string) => Promise<unknown>): Promise<void> => {
    let next = 0
    const worker = async (): Promise<void> => {
      while (next < OBJECTS) await step(`photo-${next++}`)
    }
    await Promise.all(Array.from({ length: AT_ONCE }, worker))
  }
  await each(Key => s3.send(new PutObjectCommand({ Bucket: 'photos', Key, Body: 'x'.repeat(1024) })))
  lap('put')
  await each(async Key => {
    const { Body } = await s3.send(new GetObjectCommand({ Bucket: 'photos', Key }))
    await Body!.transformToByteArray()
  })
  lap('get')
  await each(Key => s3.send(new DeleteObjectCommand({ Bucket: 'photos', Key })))
  lap('delete')
  s3.destroy()
  await hf.close()
  lap('close')
  const { user, system } = process.cpuUsage(before)
  times.push(`processor time ${Math.round((user + system) / 1000)} ms`)
  process.stdout.write(`${OBJECTS} objects of 1 KiB, ${AT_ONCE} at once: ${times.join(', ')}\n`)
}, 60_000)
