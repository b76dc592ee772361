import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { BadForm, boundaryOf, FORM_LIMITS, isFormType, readForm } from './form-data.ts'

const B = 'xBOUNDARYx'

const field = (name: string, value: string): string =>
  `--${B}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`

const fileHead = (name = 'a.txt'): string =>
  `--${B}\r\nContent-Disposition: form-data; name="file"; filename="${name}"\r\nContent-Type: text/plain\r\n\r\n`

const END = `\r\n--${B}--\r\n`

async function* pieces(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

async function read(form: string | Buffer, size = 1 << 20) {
  const { fields, fileName, file } = await readForm(pieces(Buffer.from(form), size), B)
  const chunks: Buffer[] = []
  for await (const chunk of file) chunks.push(chunk)
  return { fields, fileName, file: Buffer.concat(chunks) }
}

const problemOf = async (form: string): Promise<string> => {
  try {
    await read(form)
  } catch (error) {
    if (error instanceof BadForm) return error.problem
    throw error
  }
  return 'none'
}

test('form: any bytes come out as they went in, however the wire cuts them', async () => {
  const bytes = fc.oneof(fc.uint8Array({ maxLength: 400 }), fc.constant(Buffer.from(`\r\n--xBOUNDAR\r\n-\r\n--`)))
  await fc.assert(
    fc.asyncProperty(bytes, fc.integer({ min: 1, max: 80 }), async (content, size) => {
      const form = Buffer.concat([Buffer.from(field('key', 'k ü') + fileHead()), content, Buffer.from(END)])
      const { fields, fileName, file } = await read(form, size)
      assert.deepEqual(fields, [['key', 'k ü']])
      assert.equal(fileName, 'a.txt')
      assert.equal(Buffer.compare(file, content), 0)
    }),
    { numRuns: 200 },
  )
})

test('form: folders of a file name are dropped, fields after the file are not read', async () => {
  const form = `${fileHead('C:\\x\\b.txt')}bytes\r\n${field('key', 'late')}--${B}--`
  assert.deepEqual(await read(form), { fields: [], fileName: 'b.txt', file: Buffer.from('bytes') })
})

test('form: what is no form, or too much of one, is refused', async () => {
  const many = Array.from({ length: FORM_LIMITS.fieldsMax + 1 }, () => field('a', '')).join('')
  for (const [form, problem] of [
    ['', 'malformed'],
    ['nothing', 'malformed'],
    [`--${B}`, 'malformed'],
    [`--${B}--\r\n`, 'no file'],
    [`${field('key', 'k')}--${B}--\r\n`, 'no file'],
    [`--${B}\r\n\r\n\r\nx\r\n--${B}--`, 'malformed'],
    [`--${B}\r\nContent-Disposition: attachment\r\n\r\nx${END}`, 'malformed'],
    [`--${B}\r\nX: ${'y'.repeat(5000)}\r\n\r\n`, 'malformed'],
    [`${fileHead()}cut`, 'malformed'],
    [`${fileHead()}cut\r\n--xBOUND`, 'malformed'],
    [field('a', 'x'.repeat(FORM_LIMITS.fieldBytesMax + 1)) + fileHead() + END, 'fields too long'],
    [field('a', 'x'.repeat(12_000)) + field('b', 'x'.repeat(12_000)) + fileHead() + END, 'fields too long'],
    [many + fileHead() + END, 'malformed'],
    [field('a', 'x'.repeat(FORM_LIMITS.fieldBytesMax)) + fileHead() + END, 'none'],
  ] as const) {
    assert.equal(await problemOf(form), problem, form.slice(0, 80))
  }
})

test('form: content types', () => {
  assert.equal(boundaryOf('multipart/form-data; boundary=abc'), 'abc')
  assert.equal(boundaryOf('multipart/form-data; charset=utf-8; boundary="a b:c"'), 'a b:c')
  for (const bad of [
    'multipart/form-data',
    'multipart/form-data; boundary=',
    `multipart/form-data; boundary=${'x'.repeat(71)}`,
  ]) {
    assert.throws(() => boundaryOf(bad), BadForm)
  }
  assert(isFormType('Multipart/Form-Data; boundary=x'))
  assert(!isFormType('multipart/form-database'))
  assert(!isFormType('text/plain'))
})
