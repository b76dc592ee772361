import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  BadXml,
  child,
  childFlag,
  childInteger,
  children,
  childText,
  childWord,
  onlyChildren,
  requiredChild,
  requiredText,
  rootNamed,
} from './xml.ts'
import { parseXml } from './xml-reader.ts'

const read = (inner: string) => parseXml(`<Part xmlns="http://any/">${inner}</Part>`)

test('R75: the root must be the expected one, in any namespace', () => {
  assert.equal(rootNamed(read(''), 'Part').name, 'Part')
  assert.throws(() => rootNamed(read(''), 'part'), BadXml)
  assert.equal(rootNamed(parseXml('<x:Part xmlns:x="u"/>'), 'Part').name, 'Part')
})

test('children by name; duplicates are rejected', () => {
  const node = read('<A>1</A><B/><A>2</A>')
  assert.deepEqual(
    children(node, 'A').map(({ text }) => text),
    ['1', '2'],
  )
  assert.equal(child(node, 'B')?.name, 'B')
  assert.equal(child(node, 'C'), undefined)
  assert.throws(() => child(node, 'A'), BadXml)
  assert.throws(() => childText(node, 'A'), BadXml)
  assert.throws(() => requiredChild(node, 'C'), BadXml)
  assert.throws(() => requiredText(node, 'C'), BadXml)
})

test('unknown elements and stray text are rejected on request', () => {
  onlyChildren(read(' <A/>\n<B/> '), 'A', 'B', 'C')
  assert.throws(() => onlyChildren(read('<A/><D/>'), 'A', 'B'), BadXml)
  assert.throws(() => onlyChildren(read('<A/>x'), 'A'), BadXml)
  assert.throws(() => onlyChildren(read('<__proto__/>'), 'A'), BadXml)
})

test('texts, words, integers, flags', () => {
  const node = read('<T> a </T><E/><N><X/></N><W>ON</W><I> 12 </I><M>-1</M><F>true</F>')
  assert.equal(childText(node, 'T'), ' a ')
  assert.equal(childText(node, 'E'), '')
  assert.equal(childText(node, 'Z'), undefined)
  assert.throws(() => childText(node, 'N'), BadXml)
  assert.equal(childWord(node, 'W', ['ON', 'OFF']), 'ON')
  assert.equal(childWord(node, 'Z', ['ON', 'OFF']), undefined)
  assert.throws(() => childWord(node, 'T', ['ON', 'OFF']), BadXml)
  assert.equal(childInteger(node, 'I'), 12)
  assert.equal(childInteger(node, 'M'), -1)
  assert.equal(childInteger(node, 'Z'), undefined)
  for (const text of ['', 'x', '1.0', '1e3', '0x10', '1 2', '1234567890123456']) {
    assert.throws(() => childInteger(read(`<I>${text}</I>`), 'I'), BadXml, text)
  }
  assert.equal(childFlag(node, 'F'), true)
  assert.equal(childFlag(read('<F>False</F>'), 'F'), false)
  assert.throws(() => childFlag(read('<F>yes</F>'), 'F'), BadXml)
})
