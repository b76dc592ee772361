import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { asMarkup, renderRoot, renderXml, XML_DECLARATION, type XmlDocument, XmlWriter, xmlText } from './xml-writer.ts'

const leaf = (value: string | number | boolean | undefined): string => new XmlWriter().leaf('k', value).end().toString()

test('R1: a document begins with its declaration, and its root has the namespace', () => {
  const document: XmlDocument = { root: 'R', write: to => void to.leaf('A', 1) }
  assert.equal(renderXml(document).toString(), '<?xml version="1.0" encoding="UTF-8"?>\n<R><A>1</A></R>')
  assert.equal(renderXml(document, 'http://n/').toString(), `${XML_DECLARATION}<R xmlns="http://n/"><A>1</A></R>`)
  assert.equal(renderRoot(document).toString(), '<R><A>1</A></R>')
})

test('elements nest, values are text, undefined is nothing', () => {
  const writer = new XmlWriter().open('a').open('b', { 'xsi:type': 'x"<' }).close()
  writer.leaf('c', undefined).leaf('d', false).leaf('e', '').leaf('f', -1.5).close()
  assert.equal(writer.end().toString(), '<a><b xsi:type="x&quot;&lt;"></b><d>false</d><e></e><f>-1.5</f></a>')
})

test('A80: markup in text is escaped', () => {
  assert.equal(leaf('<img onerror="x">&\''), "<k>&lt;img onerror=&quot;x&quot;&gt;&amp;'</k>")
})

test('A41: every character of a key can be written', () => {
  assert.equal(leaf('a\tb\nc\rd\u0001\u001f'), '<k>a&#x9;b&#xA;c&#xD;d&#x1;&#x1F;</k>')
  assert.equal(leaf('\u007f é \u202e 日本 😀 e\u0301'), '<k>\u007f é \u202e 日本 😀 e\u0301</k>')
  assert.equal(leaf('\ufffd\ufffe\uffff'), '<k>\ufffd&#xFFFE;&#xFFFF;</k>')
  assert.equal(leaf('\0\ud83dx\ude00\ud83d'), '<k>\ufffd\ufffdx\ufffd\ufffd</k>')
  assert.equal(leaf('\u07ff\u0800\ud7ff\ue000'), '<k>\u07ff\u0800\ud7ff\ue000</k>')
})

test('documents larger than the buffer, and two at once', () => {
  const outer = new XmlWriter().open('outer')
  const inner = new XmlWriter().leaf('inner', 'i'.repeat(100_000)).leaf('inner', 'é'.repeat(300_000))
  outer.leaf('x', 'o').close()
  assert.equal(inner.end().length, 100_000 + 600_000 + 2 * 15)
  assert.equal(outer.end().toString(), '<outer><x>o</x></outer>')
  const first = new XmlWriter().leaf('a', '1').end()
  const second = new XmlWriter().leaf('b', '2').end()
  assert.equal(`${first}${second}`, '<a>1</a><b>2</b>')
})

/** A simple reference implementation, character by character. */
function escapeReference(text: string): string {
  return [...text]
    .map(character => {
      const code = character.codePointAt(0)!
      if (code === 0 || (code >= 0xd800 && code < 0xe000)) return '\ufffd'
      if ('&<>"'.includes(character)) return { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }[character]!
      if (code < 0x20 || code === 0xfffe || code === 0xffff) return `&#x${code.toString(16).toUpperCase()};`
      return character
    })
    .join('')
}

/** Mostly plain text, with everything else mixed in: markup, controls, two to four bytes, lone surrogates. */
const anyText = fc.string({
  unit: fc.oneof(
    { weight: 6, arbitrary: fc.string({ minLength: 1, maxLength: 1 }) },
    fc.constantFrom('&', '<', '"', '\0', '\n', '\x7f', 'é', '日', '\ufffe', '😀', '\ud83d', '\ude00'),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
  ),
  maxLength: 12,
})

test('A41 A80: text is escaped alike in elements, attributes and markup, at any offset', () => {
  const anyTexts = fc.array(anyText, { maxLength: 30 })
  fc.assert(
    fc.property(anyTexts, fc.nat(9_000), (texts, before) => {
      const writer = new XmlWriter('.'.repeat(before)).open('r')
      let expected = `${'.'.repeat(before)}<r>`
      for (const text of texts) {
        writer.open('a', { b: text }).text(text).close().leaf('l', text)
        writer.add(asMarkup(`<m>${xmlText(text)}</m>`))
        const plain = escapeReference(text)
        expected += `<a b="${plain}">${plain}</a><l>${plain}</l><m>${plain}</m>`
      }
      assert.equal(writer.close().end().toString(), `${expected}</r>`)
    }),
  )
})

test('a document that is not closed, or closed too often, is a programming error', () => {
  assert.throws(() => new XmlWriter().open('a').end(), /a is still open/)
  assert.throws(() => new XmlWriter().close(), /no element/)
})
