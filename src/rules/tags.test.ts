import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { BadXml } from '../lib/xml.ts'
import { parseXml } from '../lib/xml-reader.ts'
import { renderXml } from '../lib/xml-writer.ts'
import { Fault } from '../model/faults.ts'
import type { Pairs } from '../model/version.ts'
import { parseTagHeader, readTagDocument, TAG_LIMITS, tagDocument } from './tags.ts'

const outcome = (run: () => Pairs): string | Pairs => {
  try {
    return run()
  } catch (error) {
    if (error instanceof BadXml) return 'BadXml'
    assert(error instanceof Fault, String(error))
    return error.code
  }
}

const header = (text: string) => outcome(() => parseTagHeader(text))
const document = (text: string, owner: 'object' | 'bucket' = 'object') =>
  outcome(() => readTagDocument(parseXml(text), owner))
const written = (tags: Pairs) => renderXml(tagDocument(tags)).toString()

test('R21: tags in a header', () => {
  assert.deepEqual(header(''), [])
  assert.deepEqual(header('k1=v1&k2=v2'), [
    ['k1', 'v1'],
    ['k2', 'v2'],
  ])
  assert.deepEqual(header('a+b=c%20d%2B&e=&f'), [
    ['a b', 'c d+'],
    ['e', ''],
    ['f', ''],
  ])
  assert.deepEqual(header('k=a=b'), [['k', 'a=b']])
  assert.deepEqual(header('%C3%A9=%F0%90%8C%80'), [['é', '\u{10300}']])
  assert.deepEqual(header('__proto__=constructor'), [['__proto__', 'constructor']])
})

test('R21 A66: malformed, excessive and forbidden tags in a header', () => {
  for (const text of ['k=1&k=2', 'k=%', 'k=%zz', 'k=%C3', 'k=%FF', 'k=\u00c3\u00a9', 'k=\x01']) {
    assert.equal(header(text), 'InvalidArgument', text)
  }
  const many = (count: number) => Array.from({ length: count }, (_, i) => `k${i}=v`).join('&')
  assert.equal(header(many(10)).length, 10)
  assert.equal(header(many(11)), 'BadRequest')
  for (const text of ['=v', 'aws:a=1', 'SVC:a=1', 'k=%3C', 'k%26=1', 'k=a%0Ab', 'k=a%00b', `${'k'.repeat(129)}=1`]) {
    assert.equal(header(text), 'InvalidTag', text)
  }
  assert.equal(header(`k=${'v'.repeat(257)}`), 'InvalidTag')
  assert.deepEqual(header(`${'k'.repeat(128)}=${'v'.repeat(256)}`), [['k'.repeat(128), 'v'.repeat(256)]])
  const astral = '\u{10300}'
  assert.deepEqual(header(`k=${encodeURIComponent(astral.repeat(256))}`), [['k', astral.repeat(256)]])
})

test('the fault names the header and says what is wrong', () => {
  assert.throws(
    () => parseTagHeader('a=1&a=2'),
    ({ detail }: Fault) => {
      assert.equal(detail.ArgumentName, 'x-svc-tagging')
      assert.match(String(detail.reason), /without tag name duplicates/)
      return true
    },
  )
  assert.throws(
    () => parseTagHeader('a=%3C'),
    ({ detail }: Fault) => detail.TagKey === 'a' && detail.TagValue === '<',
  )
})

const tag = (key: string, value: string) => `<Tag><Key>${key}</Key><Value>${value}</Value></Tag>`
const tagging = (...tags: string[]) => `<Tagging><TagSet>${tags.join('')}</TagSet></Tagging>`

test('R21 A66: tags in a document', () => {
  assert.deepEqual(document(tagging()), [])
  assert.deepEqual(document('<Tagging xmlns="http://a/"><TagSet/></Tagging>'), [])
  assert.deepEqual(document(tagging(tag('a', '1'), tag(' b', ''))), [
    ['a', '1'],
    [' b', ''],
  ])
  assert.equal(document(tagging(tag('a', '1'), tag('a', '1'))), 'InvalidTag')
  assert.equal(document(tagging(tag('', '1'))), 'InvalidTag')
  assert.equal(document(tagging(tag('a', '&lt;'))), 'InvalidTag')
  assert.equal(document(tagging(tag('aws:x', '1'))), 'InvalidTag')
  const many = (count: number) => tagging(...Array.from({ length: count }, (_, i) => tag(`k${i}`, 'v')))
  assert.equal(document(many(11)), 'BadRequest')
  assert.equal(document(many(50), 'bucket').length, 50)
  assert.equal(document(many(51), 'bucket'), 'BadRequest')
  for (const text of [
    ...['<Tagging/>', '<TagSet/>', '<Tagging><TagSet/><TagSet/></Tagging>', '<Tagging><TagSet/>x</Tagging>'],
    ...[tagging('<Tag/>'), tagging('<Tag><Key>a</Key></Tag>'), tagging('<Tag><Value>a</Value></Tag>'), tagging('<X/>')],
    ...[tagging('<Tag><Key>a</Key><Key>b</Key><Value/></Tag>'), tagging('<Tag><Key><b/></Key><Value/></Tag>')],
  ]) {
    assert.equal(document(text), 'BadXml', text)
  }
})

test('R21: the same list from a header and from a document', () => {
  const character = fc.constantFrom(...'abzAZ09 _.:/=+-@éß日', '\u{10300}')
  const text = (maxLength: number) => fc.array(character, { maxLength }).map(characters => characters.join(''))
  const key = text(20).filter(name => name !== '' && !/^(aws|svc):/i.test(name))
  const tags = fc.uniqueArray(fc.tuple(key, text(40)), {
    maxLength: TAG_LIMITS.objectTagsMax,
    selector: ([name]) => name,
  })
  fc.assert(
    fc.property(tags, wanted => {
      const encoded = wanted.map(pair => pair.map(encodeURIComponent).join('=')).join('&')
      assert.deepEqual(header(encoded), wanted)
      assert.deepEqual(header(encoded.replaceAll('%20', '+')), wanted)
      assert.deepEqual(document(written(wanted)), wanted)
    }),
  )
})

test('R21: empty pairs in the header are ignored', () => {
  for (const [header, tags] of [
    ['', []],
    ['&', []],
    ['&&&', []],
    ['a=1&', [['a', '1']]],
    ['&a=1', [['a', '1']]],
    [
      'a=1&&b=2',
      [
        ['a', '1'],
        ['b', '2'],
      ],
    ],
  ] as const) {
    assert.deepEqual(parseTagHeader(header), tags, header)
  }
})
