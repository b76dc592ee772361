/** Filesystems for data: reported at every start, refused if the operator wants that. */
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { filesystemOf } from '../../src/server/filesystem.ts'
import { withFolder } from '../store/fixture.ts'
import { holdfast, serving } from './program.ts'

const MEMORY = '/dev/shm'
const isThere = existsSync(MEMORY) && filesystemOf(MEMORY).kind === 'tmpfs'
const skip = isThere ? false : `${MEMORY} is no tmpfs here`

const LISTEN = ['--listen', '127.0.0.1:0', '--console', '127.0.0.1:0', '--workers', '1', '--metrics-public']

/** Everything that a server printed, and its metrics while it served. */
async function started(data: string): Promise<{ errors: string; measures: string }> {
  const server = await serving(['--data', data, '--metrics-public'])
  try {
    const measures = await (await fetch(`${server.consoleUrl}/metrics`)).text()
    return { measures, errors: server.errors() }
  } finally {
    await server.stop()
  }
}

test('a data folder in memory is told of at the start and measured, and refused when that is wanted', {
  skip,
}, async () => {
  const folder = mkdtempSync(join(MEMORY, 'holdfast-test-'))
  try {
    const data = join(folder, 'data')
    const refused = await holdfast(['serve', '--data', data, ...LISTEN, '--require-durable-filesystem'])
    assert.deepEqual([refused.code, refused.out], [1, ''])
    assert.match(refused.errors, /^holdfast: \S+ is not on durable storage: tmpfs is in memory[^\n]+\n$/)
    assert(!existsSync(data), 'nothing was made')
    const { errors, measures } = await started(data)
    assert.match(errors, /"level":"warn","message":"\S+ is not on durable storage: tmpfs is in memory/)
    assert.match(measures, /^holdfast_filesystem_unsafe\{folder="data",kind="tmpfs"\} 1$/m)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

test('a data folder on a disk causes no warning', t =>
  withFolder(async folder => {
    const { kind, problems } = filesystemOf(folder)
    const { errors, measures } = await started(join(folder, 'data'))
    t.diagnostic(`temporary folders lie on ${kind}`)
    assert.equal(errors.includes('is not on durable storage'), problems.length > 0)
    const figure = `holdfast_filesystem_unsafe{folder="data",kind="${kind}"} ${problems.length > 0 ? 1 : 0}\n`
    assert(measures.includes(figure), figure)
  }))
