import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { openMemoryMeta } from '../meta/memory/memory.ts'
import { ROOT_FILE, rootKey } from './accounts.ts'

test('after a kill while the first start stores the root key, the next start succeeds', async () => {
  const data = await mkdtemp(join(tmpdir(), 'holdfast-root-'))
  try {
    await writeFile(join(data, `${ROOT_FILE}.new`), 'HALF')
    const told: string[] = []
    const meta = await openMemoryMeta()
    const config = { data, memory: false, rootKey: undefined, cluster: undefined }
    const made = await rootKey(config, line => void told.push(line), meta)
    assert.equal(told.length, 1)
    assert.deepEqual(await rootKey(config, line => void told.push(line), meta), made)
    assert.deepEqual([told.length, await readdir(data)], [1, [ROOT_FILE]])
  } finally {
    await rm(data, { recursive: true, force: true })
  }
})
