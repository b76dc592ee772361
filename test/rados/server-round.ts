/** A server whose blobs are in RADOS: a round of requests, a restart, fsck, backup and restore. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Ceph } from '../ceph/cluster.ts'
import { spawned } from '../cli/program.ts'
import type { Client } from '../http/server.ts'
import { BUCKET, ROOT, withProgram } from '../workers/program.ts'
import { addressOf, newNamespace } from './place.ts'

const MIB = 2 ** 20
const PART_BYTES = 6 * MIB

type Objects = Map<string, Buffer>

async function send(client: Client, method: string, path: string, body?: Buffer, headers?: [string, string][]) {
  const request = { method, bucket: BUCKET, path, as: ROOT, ...(body && { body }), ...(headers && { headers }) }
  return client.send(request)
}

async function put(client: Client, objects: Objects, key: string, body: Buffer): Promise<void> {
  assert.equal((await send(client, 'PUT', `/${key}`, body)).status, 200, key)
  objects.set(key, body)
}

async function putInParts(client: Client, objects: Objects, key: string): Promise<void> {
  const parts = [randomBytes(PART_BYTES), randomBytes(PART_BYTES), randomBytes(100)]
  const begun = await send(client, 'POST', `/${key}?uploads`)
  const id = /<UploadId>([^<]+)</.exec(begun.body.toString())?.[1]
  let list = ''
  for (const [index, part] of parts.entries()) {
    const { status, headers } = await send(client, 'PUT', `/${key}?partNumber=${index + 1}&uploadId=${id}`, part)
    assert.equal(status, 200)
    list += `<Part><PartNumber>${index + 1}</PartNumber><ETag>${headers.get('etag')}</ETag></Part>`
  }
  const body = Buffer.from(`<CompleteMultipartUpload>${list}</CompleteMultipartUpload>`)
  assert.equal((await send(client, 'POST', `/${key}?uploadId=${id}`, body)).status, 200)
  objects.set(key, Buffer.concat(parts))
}

async function fill(client: Client, objects: Objects): Promise<void> {
  for (const length of [0, 5, 4096, 300_000, MIB, MIB + 1, 20 * MIB]) {
    await put(client, objects, `of-${length}`, randomBytes(length))
  }
  await Promise.all(Array.from({ length: 50 }, (_, n) => put(client, objects, `small-${n}`, randomBytes(5000 + n))))
  await putInParts(client, objects, 'in-parts')
  const copied = await send(client, 'PUT', '/copy', undefined, [[':copy-source', `/${BUCKET}/in-parts`]])
  assert.equal(copied.status, 200)
  objects.set('copy', objects.get('in-parts')!)
  for (const key of ['in-parts', 'small-7', `of-${MIB + 1}`]) {
    assert.equal((await send(client, 'DELETE', `/${key}`)).status, 204)
    objects.delete(key)
  }
}

async function verify(client: Client, objects: Objects): Promise<void> {
  for (const [key, body] of objects) {
    const { status, body: got } = await send(client, 'GET', `/${key}`)
    assert.equal(status, 200, key)
    assert(got.equals(body), `${key} differs`)
  }
  const range: [string, string][] = [['Range', `bytes=${5 * MIB}-${9 * MIB}`]]
  const part = await send(client, 'GET', `/of-${20 * MIB}`, undefined, range)
  assert.equal(part.status, 206)
  assert(part.body.equals(objects.get(`of-${20 * MIB}`)!.subarray(5 * MIB, 9 * MIB + 1)))
  assert.equal((await send(client, 'GET', '/small-7')).status, 404)
}

async function command(...args: readonly string[]): Promise<string> {
  const { code, out, errors } = await spawned(args)
  assert.equal(code, 0, `${args[0]}: ${out}${errors}`)
  return out
}

export function serverTests(ceph: Ceph, pool: string): void {
  test('a server on RADOS serves, restarts, passes a deep fsck, and comes back from a backup', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'holdfast-rados-'))
    const place = (): string => addressOf({ conf: ceph.conf, pool, namespace: newNamespace() })
    const [data, restored] = [join(folder, 'data'), join(folder, 'restored')]
    const [blobs, restoredBlobs] = [place(), place()]
    const objects: Objects = new Map()
    try {
      await withProgram(
        data,
        async program => {
          await fill(program.client(), objects)
          await verify(program.client(), objects)
          assert.equal(await program.end(), 0)
        },
        ...['--blobs', blobs],
      )
      await withProgram(
        data,
        async program => {
          await verify(program.client(), objects)
          await put(program.client(), objects, 'later', randomBytes(2 * MIB))
          assert.equal(await program.end(), 0)
          assert(!program.errors.includes('"error"'), program.errors)
        },
        ...['--blobs', blobs],
      )
      const checked = await spawned(['doctor', '--json', '--data', data, '--blobs', blobs])
      assert.match(checked.out, /"check":\s*"pool",\s*"state":\s*"good",\s*"found":\s*"size 3, min_size 2"/)
      assert.match(await command('fsck', '--deep', '--data', data, '--blobs', blobs), /0 problems|no problems/)
      const backup = join(folder, 'backup')
      await command('backup', backup, '--data', data, '--blobs', blobs)
      const into = (folder: string): string[] => {
        const keyring = join(data, 'keyring')
        return ['restore', backup, '--data', folder, '--blobs', restoredBlobs, '--keyring', keyring]
      }
      await command(...into(restored))
      const { code, errors } = await spawned(into(`${restored}-2`))
      assert.notEqual(code, 0)
      assert.match(errors, /rados:\/\/\S+ is not empty/)
      assert(!errors.includes(ceph.conf), 'options of an address are not printed')
      await withProgram(restored, program => verify(program.client(), objects), ...['--blobs', restoredBlobs])
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  })
}
