import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressesOf } from './address.ts'

test('a PostgreSQL address is split into one per host', () => {
  assert.deepEqual(addressesOf('postgres://u:p@one:1,two:2/db?sslmode=require'), [
    'postgres://u:p@one:1/db?sslmode=require',
    'postgres://u:p@two:2/db?sslmode=require',
  ])
  const whole = ['postgresql://one/db', 'postgres:///db', 'postgres://u@/db', 'postgres://[::1]:5432/db']
  for (const url of [...whole, 'postgres://u:1%23@one/db', 'postgres://u:p@/db?host=/run&x=a@b'])
    assert.deepEqual(addressesOf(url), [url])
})

test('an invalid PostgreSQL address is rejected without revealing a password', () => {
  for (const url of [
    'mysql://me:hush@one/db',
    'postgres://me:hush@one:port/db',
    'postgres://me:hush@one:1,two:hush/db',
    'postgres://me:1/hush@one/db',
    'postgres://me:1?hush@one/db',
    'postgres://me:1/2?hush@one/db',
    'postgres://me:1#hush@one/db',
    'postgres://me:1#2/hush@one/db',
  ])
    assert.throws(
      () => addressesOf(url),
      (error: Error) => /^a PostgreSQL address has the form/.test(error.message) && !/hush/.test(error.message),
    )
})
