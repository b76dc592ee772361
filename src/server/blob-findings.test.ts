import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { blobFindings, judgeStore } from './blob-findings.ts'

test('a folder of blobs is tried, and nothing is left in it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-findings-'))
  try {
    const findings = await blobFindings(folder)
    assert.deepEqual(
      findings.map(({ check }) => check),
      ['blobs filesystem', 'blobs space', 'blobs sync'],
    )
    assert.deepEqual(readdirSync(folder), [])
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('a missing location or one of an unknown driver is a finding', async () => {
  const missing = join(tmpdir(), 'holdfast-not-there', 'blobs')
  assert.deepEqual(
    (await blobFindings(missing)).map(({ state }) => state),
    ['odd'],
  )
  const [unknown] = await blobFindings('ftp://me:hush@host/blobs')
  assert.deepEqual([unknown?.state, unknown?.found], ['bad', 'ftp://host/blobs'])
})

test('findings list the capabilities of an S3 store', () => {
  const found = judgeStore('s3://blobs', { refusesOverwrites: false, verifies: ['MD5', 'SHA-256'] })
  assert.match(found[1]!.found, /verifies MD5 and SHA-256 of uploads; it cannot refuse overwrites/)
})
