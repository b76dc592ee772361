import assert from 'node:assert/strict'
import { test } from 'node:test'
import { copySourceOf, parseCopySource } from './copy-source.ts'

test('R43: a bucket and a key, decoded once', () => {
  for (const [header, bucket, key, versionId] of [
    ['b/k', 'b', 'k', undefined],
    ['/b/k', 'b', 'k', undefined],
    ['b/a/b//c/', 'b', 'a/b//c/', undefined],
    ['%2Fb%2Fk', 'b', 'k', undefined],
    ['b/a+b', 'b', 'a+b', undefined],
    ['b/%C3%BC%20%25', 'b', 'ü %', undefined],
    ['b/k?versionId=v1', 'b', 'k', 'v1'],
    ['b/k%3FversionId=x', 'b', 'k?versionId=x', undefined],
    ['b/k?versionId=x?versionId=y', 'b', 'k?versionId=x', 'y'],
    ['b/what?', 'b', 'what?', undefined],
  ] as const) {
    assert.deepEqual(parseCopySource(header), { bucket, key, versionId }, header)
  }
})

test('R43: a copy source that names no object is refused', () => {
  const bad = [
    '',
    '/',
    'b',
    '/b',
    'b/',
    '//k',
    'b/%',
    'b/%zz',
    'b/%ff',
    'b/%00',
    'b/k?versionId=',
    `b/${'k'.repeat(1025)}`,
  ]
  for (const header of bad) {
    assert.equal(parseCopySource(header), undefined, header)
    assert.throws(() => copySourceOf(header), { code: 'InvalidArgument' })
  }
})
