import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseS3Place } from './place.ts'

const ENDPOINT = 'endpoint=http://127.0.0.1:9000'

test('an address names bucket, prefix, endpoint and region', () => {
  const place = parseS3Place(new URL(`s3://my-bucket/some/where?${ENDPOINT}&region=eu-1&style=virtual&ca=/etc/ca.pem`))
  assert.deepEqual(
    { ...place, endpoint: place.endpoint.href },
    {
      bucket: 'my-bucket',
      prefix: 'some/where/',
      endpoint: 'http://127.0.0.1:9000/',
      region: 'eu-1',
      virtualHost: true,
      caFile: '/etc/ca.pem',
    },
  )
  for (const path of ['', '/']) assert.equal(parseS3Place(new URL(`s3://bucket${path}?${ENDPOINT}`)).prefix, '')
  assert.equal(parseS3Place(new URL(`s3://bucket/a/?${ENDPOINT}`)).prefix, 'a/')
})

test('an address with keys in it is refused, without repeating them', () => {
  const addresses = [
    `s3://me:hush@bucket/a?${ENDPOINT}`,
    `s3://hush@bucket/a?${ENDPOINT}`,
    `s3://bucket/a?${ENDPOINT}&secretKey=hush`,
    `s3://bucket/a?${ENDPOINT}&access_key=hush`,
    's3://bucket/a?endpoint=http://me:hush@host',
  ]
  for (const address of addresses) {
    assert.throws(
      () => parseS3Place(new URL(address)),
      (error: Error) => /must not contain access keys/.test(error.message) && !/hush/.test(error.message),
    )
  }
})

test('an address that is incomplete or ambiguous is refused with what it lacks', () => {
  const cases: [string, RegExp][] = [
    ['s3://bucket/a', /needs the endpoint/],
    ['s3://bucket/a?endpoint=host:9000', /needs the endpoint/],
    ['s3://bucket/a?endpoint=ftp://host', /needs the endpoint/],
    [`s3:///a?${ENDPOINT}`, /name of a bucket/],
    [`s3://bucket:80/a?${ENDPOINT}`, /name of a bucket/],
    [`s3://bucket/a//b?${ENDPOINT}`, /prefix/],
    [`s3://bucket/a/%2e%2e/b c?${ENDPOINT}`, /prefix/],
    [`s3://bucket/a?${ENDPOINT}#x`, /prefix/],
    [`s3://bucket/a?${ENDPOINT}&regoin=x`, /no option regoin/],
    [`s3://bucket/a?${ENDPOINT}&region=x&region=y`, /twice/],
    [`s3://bucket/a?${ENDPOINT}&style=odd`, /path or virtual/],
  ]
  for (const [address, message] of cases) assert.throws(() => parseS3Place(new URL(address)), { message }, address)
})
