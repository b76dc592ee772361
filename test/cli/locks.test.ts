/** `explain`, `ledger` and `clock` on the command line. */
import assert from 'node:assert/strict'
import { readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ed25519Key } from '../../src/lib/ed25519.ts'
import type { LedgerNote } from '../../src/model/ledger.ts'
import { checkpointText, closingLine, entryLine, entryText, hashOf, headerLine } from '../../src/rules/ledger.ts'
import { withFolder } from '../store/fixture.ts'
import { holdfast, ROOT, serving } from './program.ts'

/** The same entries under a key of somebody else, who signs more of them. */
function continued(lines: readonly string[]): readonly string[] {
  const { store, bucket } = JSON.parse(lines[0]!)
  const { entries, last: previous } = JSON.parse(lines.at(-1)!)
  const key = ed25519Key(Buffer.alloc(32, 1))
  const note: LedgerNote = { what: 'delete refused', key: 'k', versionId: 'null', reason: 'held' }
  const text = entryText({ sequence: entries + 1, time: 0, previous }, { account: '000000000000' }, note)
  const end = { entries: entries + 1, last: hashOf(text), time: 0 }
  const signature = key.sign(checkpointText({ store, bucket }, end))
  const header = headerLine({ store, bucket }, key.publicKey.toString('hex'))
  return [header, ...lines.slice(1, -1), entryLine(text), closingLine(end, signature)]
}

test('an exported ledger is verified offline, and every modification of the file is found', () =>
  withFolder(async folder => {
    const data = join(folder, 'data')
    const file = join(folder, 'kept.ndjson')
    const server = await serving(['--data', data])
    try {
      await holdfast(['bucket', 'create', 'kept', '--lock', '--data', data])
      await holdfast(['bucket', 'lock', 'kept', '--mode', 'governance', '--days', '1', '--data', data])
      const exported = await holdfast(['ledger', 'export', 'kept', '--data', data])
      assert.equal(exported.code, 0, exported.errors)
      writeFileSync(file, exported.out)
      const stored = await holdfast(['ledger', 'verify', 'kept', '--data', data])
      assert.deepEqual([stored.code, /^whole: \d+ entries of kept/.test(stored.out)], [0, true])
      const missing = await holdfast(['ledger', 'export', 'none', '--data', data])
      assert.deepEqual([missing.code, missing.out], [1, ''])
    } finally {
      await server.stop()
    }
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n')
    const { publicKey } = JSON.parse(lines[0]!)
    const verify = (...args: string[]) => holdfast(['ledger', 'verify', ...args])
    assert.equal((await verify(file)).code, 0)
    assert.equal((await verify(file, '--public-key', publicKey, '--since', file)).code, 0)
    const forged = join(folder, 'forged.ndjson')
    writeFileSync(forged, `${continued(lines).join('\n')}\n`)
    assert.equal((await verify(forged)).code, 0)
    const resigned = await verify(forged, '--since', file)
    assert.deepEqual([resigned.code, resigned.out.split(':')[0]], [1, 'line 1'], resigned.out)
    const another = (publicKey[0] === '0' ? '1' : '0') + publicKey.slice(1)
    assert.equal((await verify(file, '--public-key', another)).code, 1)
    const altered: readonly (readonly [string, readonly string[]])[] = [
      ['altered', lines.map(line => line.replace('"days":1', '"days":2'))],
      ['cut off', lines.slice(0, -1)],
      ['left out', [lines[0]!, ...lines.slice(2)]],
      ['doubled', [...lines.slice(0, 2), ...lines.slice(1)]],
    ]
    for (const [how, changed] of altered) {
      writeFileSync(file, `${changed.join('\n')}\n`)
      const { code, out } = await verify(file)
      assert.deepEqual([code, /^line \d+/.test(out)], [1, true], how)
    }
  }))

test('a ledger that is too long to be read as a whole is verified', () =>
  withFolder(async folder => {
    const file = join(folder, 'long.ndjson')
    writeFileSync(file, `${headerLine({ store: 'ab', bucket: 'kept' }, '00')}\nno entry\n`)
    truncateSync(file, 600 * 2 ** 20)
    const { code, out } = await holdfast(['ledger', 'verify', file])
    assert.deepEqual([code, out.split(':')[0]], [1, 'line 2'])
  }))

test('explain prints the verdict and what decides, with a server and without', () =>
  withFolder(async folder => {
    const data = join(folder, 'data')
    const ask = ['explain', '--as', ROOT.accessKey, '--do', 'svc:PutObject', '--on', 'mine/a/b', '--data', data]
    const server = await serving(['--data', data, '--buckets', 'mine'])
    try {
      const { code, out } = await holdfast(ask)
      assert.equal(code, 0)
      assert.match(out, /^svc:PutObject on mine\/a\/b as account 000000000000 \(key HFROOTOFTESTS\): allowed\n/)
    } finally {
      await server.stop()
    }
    assert.equal(JSON.parse((await holdfast([...ask, '--json'])).out).verdict, 'allowed')
    const anonymous = await holdfast(['explain', '--do', 'svc:GetObject', '--on', 'mine/k', '--data', data, '--json'])
    assert.equal(JSON.parse(anonymous.out).verdict, 'refused')
    assert.equal((await holdfast(['explain', '--on', 'mine', '--data', data])).code, 2)
    const unknown = await holdfast([
      'explain',
      '--as',
      'AKNOBODY',
      '--do',
      'svc:GetObject',
      '--on',
      'mine/k',
      '--data',
      data,
    ])
    assert.equal(unknown.code, 1)
    const clock = await holdfast(['clock', 'show', '--data', data, '--json'])
    assert.deepEqual([clock.code, JSON.parse(clock.out).jumped], [0, false])
    assert.equal((await holdfast(['clock', 'confirm', '--data', data])).code, 0)
  }))
