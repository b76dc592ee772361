/** The full check of a running server from the command line, under load and on damaged bytes. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { S3Client } from '../../src/s3/client.ts'
import { payload, withFolder } from '../store/fixture.ts'
import { amidChanges } from '../store/online-fsck.ts'
import { holdfast, ROOT, type Serving, serving, spawnServer } from './program.ts'

const clientOf = ({ url }: Serving): S3Client =>
  new S3Client({ endpoint: new URL(url), bucket: 'load', region: 'us-east-1', key: ROOT, inFlight: 4 })

const put = (client: S3Client, key: string, body: Buffer) => client.requestOnce({ method: 'PUT', key, body })

/** Files with a blob of its own, by size. */
function soloFiles(data: string): Map<number, string> {
  const below = join(data, 'blobs')
  const files = readdirSync(below, { recursive: true, encoding: 'utf8' }).map(name => join(below, name))
  return new Map(files.filter(path => /\/[0-9a-f]{32}$/.test(path)).map(path => [statSync(path).size, path]))
}

test('a check through the console names the objects that damaged and missing files affect', () =>
  withFolder(async folder => {
    const data = join(folder, 'data')
    const server = await serving(['--data', data])
    try {
      const client = clientOf(server)
      await client.requestOnce({ method: 'PUT' })
      for (const [key, size] of [
        ['flipped', 3_000_000],
        ['gone', 2_000_000],
        ['whole', 1_500_000],
      ] as const) {
        await put(client, key, payload(size))
      }
      const at = ['--endpoint', server.consoleUrl]
      const sound = await holdfast(['fsck', '--deep', ...at])
      assert.equal(sound.code, 0, sound.errors)
      assert.match(sound.out, /^3 versions, 3 blobs, 6500000 bytes read; 0 problems\n$/)
      const [, gone, flipped] = [...soloFiles(data)].sort(([a], [b]) => a - b).map(([, path]) => path)
      const bytes = readFileSync(flipped!)
      bytes[bytes.length >> 1]! ^= 1
      writeFileSync(flipped!, bytes)
      rmSync(gone!)
      const shallow = await holdfast(['fsck', '--json', ...at])
      assert.equal(shallow.code, 1)
      assert.match(String(JSON.parse(shallow.out).problems), /^blob [0-9a-f]{32}: its file is missing$/)
      const deep = await holdfast(['fsck', '--deep', ...at])
      assert.equal(deep.code, 1)
      assert.match(deep.out, /affects load\/flipped@null\n/)
      assert.match(deep.out, /affects load\/gone@null\n/)
      assert.match(deep.out, /; 3 problems\n$/)
      const repair = await holdfast(['fsck', '--repair', ...at])
      assert.deepEqual([repair.code, /--repair needs the data folder/.test(repair.errors)], [2, true])
    } finally {
      await server.stop()
    }
  }))

test('a server with two workers under load has no findings in any round', () =>
  withFolder(async folder => {
    const server = await spawnServer(['--data', join(folder, 'data'), '--workers', '2'])
    try {
      const client = clientOf(server)
      await client.requestOnce({ method: 'PUT' })
      const clients = [1, 2, 3].map(seed => (stopped: () => Promise<boolean>) => load(client, seed, stopped))
      await amidChanges(clients, { rounds: 3, changes: 6 }, async () => {
        const { code, out, errors } = await holdfast(['fsck', '--deep', '--endpoint', server.consoleUrl])
        assert.equal(code, 0, out + errors)
      })
    } finally {
      assert.equal(await server.stop(), 0)
    }
  }))

async function load(client: S3Client, seed: number, stopped: () => Promise<boolean>): Promise<void> {
  const sizes = [500, 20_000, 300_000, 1_200_000]
  for (let changes = 0; !(await stopped()); changes++) {
    const key = `key-${(seed * 7 + changes) % 5}`
    if (changes % 4 === 3) await client.requestOnce({ method: 'DELETE', key })
    else await put(client, key, payload(sizes[(changes + seed) % sizes.length]!, changes))
  }
}
