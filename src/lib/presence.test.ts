import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { isThere, show } from './presence.ts'

test('a process is there until it ends, also under a path too long for a socket', async () => {
  const top = mkdtempSync(join(tmpdir(), 'presence-'))
  try {
    const deep = join(top, 'd'.repeat(80), 'e'.repeat(80))
    mkdirSync(deep, { recursive: true })
    for (const folder of process.platform === 'linux' ? [top, deep] : [top]) {
      const path = join(folder, 'p.sock')
      assert.equal(await isThere(path), false)
      const presence = await show(path)
      assert.equal(await isThere(path), true)
      await presence.end()
      assert.equal(await isThere(path), false)
      assert(!existsSync(path), 'nothing of it is left')
    }
    assert.equal(await isThere(join(top, 'no', 'such', 'folder')), false)
  } finally {
    rmSync(top, { recursive: true })
  }
})

test('whoever ends takes nothing away from who shows itself at the same place since', async () => {
  const top = mkdtempSync(join(tmpdir(), 'presence-'))
  try {
    const path = join(top, 'p.sock')
    const first = await show(path)
    const ended = first.end()
    const second = await show(path)
    await ended
    assert.equal(await isThere(path), true)
    await second.end()
    assert(!existsSync(path), 'nothing of it is left')
  } finally {
    rmSync(top, { recursive: true })
  }
})
