import assert from 'node:assert/strict'
import {
  closeSync,
  existsSync,
  fstatSync,
  linkSync,
  mkdtempSync,
  openSync,
  promises,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { realDisk } from './disk.ts'

const MIB = 2 ** 20
const discard = (path: string): Promise<void> => realDisk.discard!(path)
const folder = mkdtempSync(join(tmpdir(), 'discard-'))
after(() => rmSync(folder, { recursive: true }))

function fileOf(bytes: number, name: string): string {
  const path = join(folder, name)
  writeFileSync(path, '')
  truncateSync(path, bytes)
  return path
}

test('a file is removed whatever its size, and a missing one is no error', async () => {
  for (const bytes of [0, 1, 8 * MIB, 8 * MIB + 1, 30 * MIB]) {
    const path = fileOf(bytes, 'any')
    await discard(path)
    assert.equal(existsSync(path), false, `${bytes} bytes`)
  }
  await discard(join(folder, 'missing'))
})

test('a large file is freed in steps, before its name goes', async () => {
  const path = fileOf(30 * MIB, 'large')
  const open = openSync(path, 'r')
  await discard(path)
  assert(fstatSync(open).size <= 8 * MIB)
  closeSync(open)
})

test('a file that has another name keeps every byte', async () => {
  const path = fileOf(30 * MIB, 'linked')
  const snapshot = join(folder, 'snapshot')
  linkSync(path, snapshot)
  await discard(path)
  assert.equal(existsSync(path), false)
  assert.equal(statSync(snapshot).size, 30 * MIB)
})

test('a snapshot taken while a file is freed keeps every byte that was left', async t => {
  const path = fileOf(30 * MIB, 'late')
  const snapshot = join(folder, 'late-snapshot')
  const open = promises.open.bind(promises)
  t.mock.method(promises, 'open', async (...args: Parameters<typeof open>) => {
    const handle = await open(...args)
    if (args[0] === path) linkSync(path, snapshot)
    return handle
  })
  await discard(path)
  assert.equal(existsSync(path), false)
  assert.equal(statSync(snapshot).size, 30 * MIB)
})

test('a file that cannot be shortened is removed all the same', async t => {
  const path = fileOf(30 * MIB, 'full')
  const open = promises.open.bind(promises)
  t.mock.method(promises, 'open', (...args: Parameters<typeof open>) =>
    args[0] === path ? Promise.reject(Object.assign(new Error('full'), { code: 'ENOSPC' })) : open(...args),
  )
  await discard(path)
  assert.equal(existsSync(path), false)
  await assert.rejects(discard(folder), { code: /EISDIR|EPERM/ })
})
