import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { LogLines } from './log-lines.ts'

const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

test('log lines: those of one turn go together, in order, and none waits for another turn', async () => {
  const written: string[] = []
  const lines = new LogLines(text => written.push(text))
  lines.add('one\n')
  lines.add('two\n')
  assert.deepEqual(written, [])
  await turn()
  assert.deepEqual(written, ['one\ntwo\n'])
  lines.add('three\n')
  await turn()
  assert.deepEqual(written, ['one\ntwo\n', 'three\n'])
})

test('log lines: what waits goes out when it is told to, once', async () => {
  const written: string[] = []
  const lines = new LogLines(text => written.push(text))
  lines.add('one\n')
  lines.flush()
  lines.flush()
  await turn()
  assert.deepEqual(written, ['one\n'])
})

test('log lines: no write is longer than what a pipe takes at once, and nothing is lost', async () => {
  const line = fc.string({ unit: 'grapheme', maxLength: 900 }).map(text => `${text.replaceAll('\n', ' ')}\n`)
  await fc.assert(
    fc.asyncProperty(fc.array(line, { maxLength: 40 }), async all => {
      const written: string[] = []
      const lines = new LogLines(text => written.push(text))
      for (const one of all) lines.add(one)
      await turn()
      assert.equal(written.join(''), all.join(''))
      for (const text of written) {
        const isOneLine = text.indexOf('\n') === text.length - 1
        assert(isOneLine || Buffer.byteLength(text) <= 4096)
        assert(text.endsWith('\n'))
      }
    }),
  )
})
