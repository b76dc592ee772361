import assert from 'node:assert/strict'
import type { Fault } from '../model/faults.ts'
import { presignedClaim, verifyClaim } from './authenticate.ts'
import type { Authentication } from './authentication.ts'
import { credential, inBoth, NOW, presigned, server, signed, withHeader } from './suite-signer.ts'

inBoth('a claim that was verified grants nothing on its own', async scheme => {
  const claim = presignedClaim(presigned(scheme, { seconds: '60' }), scheme)!
  const by = server(scheme)
  const first = await verifyClaim(claim, by)
  assert.equal(first.caller.kind, 'account')
  assert.deepEqual(await verifyClaim(claim, by), first)
  const refusals: [code: string, change: Partial<Authentication>][] = [
    ['AccessDenied', { now: NOW + 60_000 }],
    ['InvalidAccessKeyId', { findCredential: () => undefined }],
    ['SignatureDoesNotMatch', { findCredential: () => ({ ...credential, secretKey: 'another' }) }],
    ['AuthorizationQueryParametersError', { region: 'eu-west-1' }],
  ]
  for (const [code, change] of refusals) {
    const verified = async (): Promise<unknown> => verifyClaim(claim, { ...by, ...change })
    await assert.rejects(verified, (fault: Fault) => fault.code === code)
    assert.deepEqual(await verifyClaim(claim, by), first)
  }
})

inBoth('a claim with a wrong signature is refused each time', async scheme => {
  const request = presigned(scheme, {})
  const target = request.target.replace(/Signature=[0-9a-f]{4}/, found => `${found.slice(0, -4)}0000`)
  const claim = presignedClaim({ ...request, target }, scheme)!
  for (let n = 0; n < 2; n++) {
    const verified = async (): Promise<unknown> => verifyClaim(claim, server(scheme))
    await assert.rejects(verified, (fault: Fault) => fault.code === 'SignatureDoesNotMatch')
  }
})

inBoth('only a presigned URL has a claim of its own', async scheme => {
  assert.equal(presignedClaim(signed(scheme, {}), scheme), undefined)
  assert.equal(presignedClaim({ method: 'GET', target: '/b/k', headers: [['host', 'h']] }, scheme), undefined)
  const both = withHeader(scheme, presigned(scheme, {}), 'authorization', 'any')
  assert.equal(presignedClaim(both, scheme), undefined)
})
