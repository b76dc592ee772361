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

test('form: directories in a file name are dropped, and fields after the file are ignored', async () => {
  const form = `${fileHead('C:\\x\\b.txt')}bytes\r\n${field('key', 'late')}--${B}--`
  assert.deepEqual(await read(form), { fields: [], fileName: 'b.txt', file: Buffer.from('bytes') })
})

test('form: quotation marks in a file name are escaped by a backslash, and no other character is', async () => {
  for (const [sent, name] of [
    ['say \\"no\\".txt', 'say "no".txt'],
    ['\\"; name=\\"key', '"; name="key'],
    ['C:\\new\\a%22b.txt', 'a%22b.txt'],
  ] as const) {
    assert.equal((await read(`${fileHead(sent)}bytes${END}`)).fileName, name)
  }
})

test('form: malformed and oversized forms are refused', async () => {
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
    [`${'p'.repeat(FORM_LIMITS.preambleBytesMax + 1)}\r\n${fileHead()}${END}`, 'malformed'],
  ] as const) {
    assert.equal(await problemOf(form), problem, form.slice(0, 80))
  }
})

const part = (head: string, value = 'x'): string => `--${B}\r\n${head}\r\n\r\n${value}\r\n`
const disposition = (rest: string): string => `Content-Disposition: form-data; ${rest}`

test('form: a part that cannot be read is never dropped, since it may ask for a legal hold', async () => {
  const rest = `${fileHead()}bytes${END}`
  const long = `X: ${'y'.repeat(FORM_LIMITS.partHeaderBytesMax)}`
  for (const broken of [
    part('Content-Disposition: attachment; name="key"'),
    part('X-A: b'),
    part('Content-Disposition: form-data'),
    part(disposition('name=""')),
    part(`${long}\r\n${disposition('name="key"')}`),
    part(`${disposition('name="key"')}\r\n${long}`),
    part(disposition('name="key"')).replace(B, `${B}garbage`),
  ]) {
    assert.equal(await problemOf(broken + rest), 'malformed', broken.slice(0, 80))
  }
  const notUtf8 = Buffer.from(part(disposition('name="key"'), 'a\xff\xfeb') + rest, 'latin1')
  await assert.rejects(read(notUtf8), BadForm)
})

test('form: the first name of a part counts, whatever other spellings follow', async () => {
  const rest = `${fileHead()}bytes${END}`
  for (const other of [`name*=utf-8''key`, 'name="key"']) {
    const { fields } = await read(part(disposition(`name="acl"; ${other}`)) + rest)
    assert.deepEqual(fields, [['acl', 'x']], other)
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
