/**
 * 3.1. The double encryption of one dialect: everything is sealed twice here, so it is accepted, stored and returned.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { document, outcome, put } from './actions.ts'
import { begin, expectFault, finish, part } from './parts.ts'
import { makeBucket, withServer } from './server.ts'

const ALGORITHM = ':server-side-encryption'
const DOUBLE = 'aws:kms:dsse'

test('G2 R22: aws:kms:dsse is accepted and returned in s3; svc calls it verenc', () =>
  withServer(async ({ s3, svc }) => {
    const bucket = await makeBucket(s3)
    const said = async (client: typeof s3, path: string): Promise<string | undefined> =>
      (await client.send({ method: 'HEAD', bucket, path })).own('server-side-encryption')
    const headers: [string, string][] = [[ALGORITHM, DOUBLE]]
    const stored = await s3.send({ method: 'PUT', bucket, path: '/k', body: 'sealed', headers })
    assert.equal(stored.own('server-side-encryption'), DOUBLE)
    assert.deepEqual([await said(s3, '/k'), await said(svc, '/k')], [DOUBLE, 'verenc'])
    assert.equal((await svc.send({ method: 'GET', bucket, path: '/k' })).body.toString(), 'sealed')
    const place = await begin(s3, bucket, '/parts', headers)
    assert.equal((await finish(s3, place, [await part(s3, place, 1, 'x')], headers)).status, 200)
    assert.equal(await said(s3, '/parts'), DOUBLE)
    const copied = {
      method: 'PUT',
      bucket,
      path: '/copy',
      headers: [[':copy-source', `${bucket}/k`], ...headers],
    } as const
    assert.equal((await s3.send(copied)).own('server-side-encryption'), DOUBLE)
    await put(s3, bucket, '/plain', 'x', [[ALGORITHM, 'aws:kms']])
    assert.deepEqual([await said(s3, '/plain'), await said(svc, '/plain')], ['aws:kms', 'verenc'])
    const inner = `<SSEAlgorithm>${DOUBLE}</SSEAlgorithm>`
    const rule = `<ApplyServerSideEncryptionByDefault>${inner}</ApplyServerSideEncryptionByDefault>`
    const byDefault = document(
      `<ServerSideEncryptionConfiguration><Rule>${rule}</Rule></ServerSideEncryptionConfiguration>`,
    )
    assert.equal(outcome(await s3.send({ method: 'PUT', bucket, path: '/?encryption', ...byDefault })), '200')
    await put(s3, bucket, '/default')
    assert.equal(await said(s3, '/default'), DOUBLE)
  }))

test('G2 R22: each dialect accepts only its own names of encryption', () =>
  withServer(async ({ s3, svc }) => {
    const bucket = await makeBucket(s3)
    for (const [client, names] of [
      [svc, ['aws:kms', DOUBLE, 'verenc+dsse', '?verenc']],
      [s3, ['verenc', 'verenc+dsse', 'aws:kms:', '?verenc']],
    ] as const) {
      for (const name of names) {
        const answer = await client.send({ method: 'PUT', bucket, path: '/k', body: 'x', headers: [[ALGORITHM, name]] })
        expectFault(answer, 400, 'InvalidArgument')
      }
    }
    assert.equal((await s3.send({ method: 'HEAD', bucket, path: '/k' })).status, 404)
  }))
