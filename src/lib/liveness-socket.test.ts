import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { isAlive, openLivenessSocket } from './liveness-socket.ts'

test('a process is alive until its socket ends, also with a path too long for a socket', async () => {
  const top = mkdtempSync(join(tmpdir(), 'presence-'))
  try {
    const deep = join(top, 'd'.repeat(80), 'e'.repeat(80))
    mkdirSync(deep, { recursive: true })
    for (const folder of process.platform === 'linux' ? [top, deep] : [top]) {
      const path = join(folder, 'p.sock')
      assert.equal(await isAlive(path), false)
      const presence = await openLivenessSocket(path)
      assert.equal(await isAlive(path), true)
      await presence.end()
      assert.equal(await isAlive(path), false)
      assert(!existsSync(path), 'nothing of it is left')
    }
    assert.equal(await isAlive(join(top, 'no', 'such', 'folder')), false)
  } finally {
    rmSync(top, { recursive: true })
  }
})

test('ending a socket does not remove its successor at the same path', async () => {
  const top = mkdtempSync(join(tmpdir(), 'presence-'))
  try {
    const path = join(top, 'p.sock')
    const first = await openLivenessSocket(path)
    const ended = first.end()
    const second = await openLivenessSocket(path)
    await ended
    assert.equal(await isAlive(path), true)
    await second.end()
    assert(!existsSync(path), 'nothing of it is left')
  } finally {
    rmSync(top, { recursive: true })
  }
})
