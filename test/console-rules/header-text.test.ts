/** Headers that are read and written again are the same bytes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { headerText } from '../../console/src/objects/header-text.ts'
import { headerWire, headerText as serverText } from '../../src/http/raw-request.ts'

test('a value of any bytes stays what it is when the console sends it back', () => {
  const wires = [
    'plain',
    'gr\u00c3\u00bcn',
    'caf\u00e9',
    '\u00ef\u00bf\u00bd',
    '\u00ef\u009e\u0080',
    '\u00e6\u0097\u00a5',
  ]
  for (const wire of wires) {
    assert.equal(headerWire(headerText(wire)), wire)
    assert.equal(headerText(wire), serverText(wire))
  }
  assert.equal(headerText('gr\u00c3\u00bcn'), 'grün')
})
