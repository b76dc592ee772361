import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { attribute, BadXml, childText, type XmlNode } from './xml.ts'
import { parseXml, XML_LIMITS } from './xml-reader.ts'
import { XmlWriter } from './xml-writer.ts'

const refused = (input: Uint8Array | string, reason: RegExp): void =>
  assert.throws(
    () => parseXml(input),
    error => {
      assert(error instanceof BadXml, String(error))
      assert.match(error.message, reason)
      return true
    },
    String(input).slice(0, 60),
  )

const hold = (text: string | Uint8Array): string | undefined => childText(parseXml(text), 'Status')

test('a document in all forms that clients send', () => {
  const forms = [
    '<LegalHold><Status>ON</Status></LegalHold>',
    '<?xml version="1.0" encoding="UTF-8"?>\n<LegalHold xmlns="http://a/"><Status>ON</Status></LegalHold>\n',
    "<?xml version='1.0' standalone='no' ?><a:LegalHold xmlns:a='u'><a:Status>ON</a:Status ></a:LegalHold>",
    "<?xml\tversion = '1.1' encoding='utf-8' standalone='yes'?><LegalHold><Status>ON</Status></LegalHold>",
    '<!-- c --><LegalHold\n\ta = "1" ><!-- < & --><Status>ON</Status></LegalHold><!---->',
    '<LegalHold><Status>O<![CDATA[N]]></Status></LegalHold>',
    '<LegalHold><Status>&#79;&#x4e;</Status></LegalHold>',
    '\ufeff<LegalHold><Status>ON</Status></LegalHold>',
  ]
  for (const form of forms) {
    assert.equal(hold(form), 'ON', form)
    assert.equal(hold(Buffer.from(form)), 'ON', form)
  }
})

test('text is preserved: spaces, references, sections, line ends', () => {
  const text = (inner: string): string => parseXml(`<a>${inner}</a>`).text
  assert.equal(text(' a\tb '), ' a\tb ')
  assert.equal(text('&lt;&gt;&amp;&quot;&apos;'), '<>&"\'')
  assert.equal(text('<![CDATA[<b>&amp;]]]]><![CDATA[>]]>'), '<b>&amp;]]>')
  assert.equal(text('a\r\nb\rc&#13;&#xD;d'), 'a\nb\nc\r\rd')
  assert.equal(text('x<!-- y -->z<b/>!'), 'xz!')
  assert.equal(text('&#x1F600;😀é'), '😀😀é')
  assert.equal(text('&#1;'), '\u0001')
})

test('attributes are kept, by prefix and by local name', () => {
  const node = parseXml(`<Grantee xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type='Can"on' b="1&amp;
2"/>`)
  assert.equal(attribute(node, 'type'), 'Can"on')
  assert.equal(node.attributes.get('xsi:type'), 'Can"on')
  assert.equal(attribute(node, 'b'), '1& 2')
  assert.equal(attribute(node, 'ype'), undefined)
})

test('A61: document types and entities are refused in every form', () => {
  const laughs = '<!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><l>&b;</l>'
  refused(laughs, /not allowed, at character 0/)
  refused('<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>', /not allowed/)
  refused('<!DOCTYPE a [<!ENTITY % p SYSTEM "http://x/">%p;]><a/>', /not allowed/)
  refused('<!doctype a><a/>', /not allowed/)
  refused('<a><!DOCTYPE a></a>', /not allowed/)
  refused('<a/><!DOCTYPE a>', /not allowed/)
  refused(`<!DOCTYPE a [<!ENTITY b "${'x'.repeat(100_000)}">]><a>${'&b;'.repeat(1000)}</a>`, /not allowed/)
  for (const name of ['b', 'nbsp', '__proto__', 'constructor', '.*', 'l.', '', ' lt', 'LT', '#', '#x', '#-1', '#1e3']) {
    refused(`<a>&${name};</a>`, /reference to nothing/)
  }
  for (const number of ['#0', '#x0', '#xD800', '#xDFFF', '#x110000', '#99999999', '#x00000000041']) {
    refused(`<a>&${number};</a>`, /reference to nothing/)
  }
  refused('<a>&lt</a>', /reference to nothing/)
  refused('<a b="&"/>', /reference to nothing/)
})

test('A62: references are bounded', () => {
  assert.equal(parseXml(`<a>${'&#65;'.repeat(XML_LIMITS.referencesMax)}</a>`).text.length, XML_LIMITS.referencesMax)
  // At the first character: none of them has been resolved.
  for (const reference of ['&#65;', '&lt;', '&#x10FFFF;', '&none;', '&']) {
    refused(`<a>${reference.repeat(200_000)}</a>`, /too many references, at character 0$/)
  }
  refused(`<a b="${'&lt;'.repeat(XML_LIMITS.referencesMax)}">&lt;</a>`, /too many references, at character 0$/)
})

test('A63: element names such as __proto__ are ordinary names', () => {
  const root = parseXml('<a><__proto__><polluted>1</polluted></__proto__><constructor __proto__="x"/></a>')
  assert.deepEqual(
    root.children.map(({ name }) => name),
    ['__proto__', 'constructor'],
  )
  assert.equal(root.children[1]!.attributes.get('__proto__'), 'x')
  assert.equal(({} as Record<string, unknown>).polluted, undefined)
})

test('A64: depth and number of elements are bounded, without exhausting the stack', () => {
  const nested = (depth: number) => '<a>'.repeat(depth) + '</a>'.repeat(depth)
  assert.equal(parseXml(nested(XML_LIMITS.depthMax)).name, 'a')
  refused(nested(XML_LIMITS.depthMax + 1), /too deep/)
  refused(nested(50_000), /too deep/)
  refused('<a>'.repeat(100_000), /too deep/)
  assert.equal(parseXml(`<r>${'<a/>'.repeat(XML_LIMITS.nodesMax - 1)}</r>`).children.length, XML_LIMITS.nodesMax - 1)
  refused(`<r>${'<a/>'.repeat(XML_LIMITS.nodesMax)}</r>`, /too many nodes/)
  refused(`<r>${'<!---->'.repeat(XML_LIMITS.nodesMax)}</r>`, /too many nodes/)
  refused(`<r>${'<![CDATA[]]>'.repeat(XML_LIMITS.nodesMax)}</r>`, /too many nodes/)
  // At the first character: nothing has been built.
  for (const node of ['<a/>', '<a></a>', '<!---->', '<![CDATA[]]>', '<?a?>', '<a ']) {
    refused(`<r>${node.repeat(1_000_000)}</r>`, /too many nodes, at character 0$/)
  }
  assert.throws(() => parseXml('<r><a/><a/></r>', 2), BadXml)
  assert.equal(parseXml('<r><a/></r>', 2).children.length, 1)
})

test('A64: attributes are bounded, per element and in total', () => {
  const attributes = (count: number): string => Array.from({ length: count }, (_, i) => ` a${i}=""`).join('')
  const each = XML_LIMITS.attributesPerElementMax
  assert.equal(parseXml(`<r${attributes(each)}/>`).attributes.size, each)
  // The position of the first one in excess, however many follow: the tag and 32 attributes of seven characters.
  refused(`<r${attributes(100_000)}/>`, /too many attributes, at character 2\d\d$/)
  const full = `<a${attributes(each)}/>`
  const elements = Math.floor(XML_LIMITS.attributesMax / each)
  assert.equal(parseXml(`<r>${full.repeat(elements)}</r>`).children.length, elements)
  const stopped = (elements + 1) * full.length + 3
  assert.throws(
    () => parseXml(`<r>${full.repeat(20 * elements)}</r>`),
    ({ message }: Error) => {
      const [, at] = /^too many attributes, at character (\d+)$/.exec(message) ?? []
      return Number(at) <= stopped
    },
  )
})

test('A64: names are bounded', () => {
  const longest = 'n'.repeat(XML_LIMITS.nameCharactersMax)
  assert.equal(parseXml(`<${longest} ${longest}=""/>`).name, longest)
  refused(`<${longest}n/>`, /name that is too long/)
  refused(`<a ${longest}n=""/>`, /name that is too long/)
})

test('a list of 10,000 parts and a batch of 1,000 keys fit', () => {
  const part =
    '<Part xmlns="u"><PartNumber>1</PartNumber><ETag>&quot;0&quot;</ETag><ChecksumSHA256>0</ChecksumSHA256></Part>'
  assert.equal(
    parseXml(`<CompleteMultipartUpload>${part.repeat(10_000)}</CompleteMultipartUpload>`).children.length,
    10_000,
  )
  const key = `<Object><Key>${'&amp;'.repeat(90)}</Key><VersionId>0</VersionId><ETag>0</ETag><Size>0</Size></Object>`
  assert.equal(parseXml(`<Delete>${key.repeat(1_000)}</Delete>`).children.length, 1_000)
})

test('A65: only UTF-8, one root, no instructions', () => {
  const document = '<a>é</a>'
  refused(Buffer.from(`\ufeff${document}`, 'utf16le'), /UTF-8/)
  refused(Buffer.from('<a></a>', 'utf16le'), /character/)
  refused(Buffer.from(document, 'latin1'), /UTF-8/)
  refused(Buffer.from([0x3c, 0x61, 0x3e, 0xc0, 0x80, 0x3c, 0x2f, 0x61, 0x3e]), /UTF-8/)
  refused('<a>\ud800</a>', /Unicode/)
  refused('<?xml version="1.0" encoding="UTF-16"?><a/>', /encoding/)
  refused('<?xml version="1.0" encoding="ISO-8859-1"?><a/>', /encoding/)
  refused('<?xml encoding="UTF-8"?><a/>', /declaration/)
  refused(' <?xml version="1.0"?><a/>', /no name/)
  refused('<?php x?><a/>', /no name/)
  refused('<a><?x y?></a>', /no name/)
  refused('<a/><a/>', /second root/)
  refused('<a/>x', /outside/)
  refused('x<a/>', /outside/)
  refused('<a/><![CDATA[x]]>', /not allowed/)
  refused('', /too early/)
  refused('<!-- only -->', /too early/)
  for (const character of ['\0', '\u0001', '\u000b', '\u001f', '\ufffe', '\uffff']) {
    refused(`<a>${character}</a>`, /character/)
  }
})

test('malformed input is rejected', () => {
  const bad = [
    ...['<a', '<a>', '</a>', '<a></b>', '<a></ab>', '<a><b></a></b>', '<a/', '<a / >', '< a/>', '<>', '<a><', '<a></a'],
    ...['<a b/>', '<a b=/>', '<a b=1/>', '<a b="1/>', '<a b="1"c="2"/>', '<a b="1" b="2"/>', '<a b="<"/>', '<a b = />'],
    ...['<a><!-- -- --></a>', '<a><!-- ></a>', '<a><![CDATA[></a>', '<a>]]></a>', '<a><![cdata[]]></a>', '<a><!></a>'],
    ...['<1/>', '<-a/>', '<a$/>', '<:a/>', '<a:/>', '<a:b:c/>', '{"a":1}', 'null', '<a>1 & 2</a>', '<a></a >x'],
  ]
  for (const text of bad) assert.throws(() => parseXml(text), BadXml, text)
})

test('any input yields a tree or a BadXml', () => {
  const pieces = [
    '<',
    '>',
    '/',
    'a',
    'b:c',
    ' ',
    '=',
    '"',
    "'",
    '&',
    ';',
    '&lt;',
    '&#65;',
    '<!--',
    '-->',
    '<![CDATA[',
    ']]>',
  ]
  const soup = fc.array(fc.constantFrom(...pieces, '<a>', '</a>', '<a b="c">', '<?xml', '?>', '<!DOCTYPE', '\n'))
  const inputs = fc.oneof(
    soup.map(parts => Buffer.from(parts.join(''))),
    soup.map(parts => Buffer.from(`<a>${parts.join('')}</a>`)),
    fc.uint8Array({ maxLength: 64 }),
  )
  let trees = 0
  fc.assert(
    fc.property(inputs, input => {
      try {
        if (parseXml(input).name.length > 0) trees++
      } catch (error) {
        assert(error instanceof BadXml, String(error))
      }
    }),
    { numRuns: 3000, seed: 1 },
  )
  assert(trees > 100, `only ${trees} were documents`)
})

test('parsing time is linear for long and intricate documents', () => {
  const before = process.cpuUsage()
  parseXml(`<r>${'a<!-- -->b&amp;'.repeat(20_000)}${'<![CDATA[x]]>y'.repeat(20_000)}</r>`)
  parseXml(`<r>${'x'.repeat(8_000_000)}</r>`)
  parseXml(`<r>${' '.repeat(4_000_000)}</r${' '.repeat(4_000_000)}>`)
  assert.throws(() => parseXml(`<?xml version="1.0"${' '.repeat(4_000_000)}<r/>`), BadXml)
  assert.throws(() => parseXml(`<r>${'<'.repeat(4_000_000)}`), BadXml)
  assert.throws(() => parseXml(`<r>${'&'.repeat(4_000_000)}`), BadXml)
  const { user } = process.cpuUsage(before)
  assert(user < 5_000_000, `${user} µs`)
})

interface Plain {
  readonly name: string
  readonly attributes: readonly (readonly [string, string])[]
  readonly content: string | readonly Plain[]
}

const anyText = fc.string({ unit: 'binary', maxLength: 12 }).filter(text => !/\p{Surrogate}|\0/u.test(text))
const anyName = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9._-]{0,8}$/)
const anyPlain: fc.Arbitrary<Plain> = fc.letrec<{ tree: Plain }>(tie => ({
  tree: fc.record({
    name: anyName,
    attributes: fc.uniqueArray(fc.tuple(anyName, anyText), { maxLength: 2, selector: ([name]) => name }),
    content: fc.oneof({ maxDepth: 4 }, anyText, fc.array(tie('tree'), { minLength: 1, maxLength: 3 })),
  }),
})).tree

function write(to: XmlWriter, { name, attributes, content }: Plain): void {
  if (typeof content === 'string' && attributes.length === 0) {
    to.leaf(name, content)
    return
  }
  to.open(name, Object.fromEntries(attributes))
  // An element with attributes and text: the text is in a child of its own.
  if (typeof content === 'string') to.leaf('text', content)
  else for (const inner of content) write(to, inner)
  to.close()
}

function same(read: XmlNode, wrote: Plain): void {
  assert.equal(read.name, wrote.name)
  assert.deepEqual([...read.attributes].sort(), [...wrote.attributes].sort())
  if (typeof wrote.content === 'string') {
    assert.equal(wrote.attributes.length === 0 ? read.text : childText(read, 'text'), wrote.content)
  } else {
    assert.equal(read.children.length, wrote.content.length)
    for (const [index, inner] of wrote.content.entries()) same(read.children[index]!, inner)
  }
}

test('documents of the writer are parsed back, with every character except NUL', () => {
  fc.assert(
    fc.property(anyPlain, plain => {
      const writer = new XmlWriter()
      write(writer, plain)
      same(parseXml(writer.end()), plain)
    }),
  )
})
