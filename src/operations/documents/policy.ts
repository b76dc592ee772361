/** The bucket policy: JSON, stored byte for byte. */
import type { XmlWriter } from '../../lib/xml-writer.ts'
import { Fault } from '../../model/faults.ts'
import { checkPolicyNotPublic, isPublicPolicy } from '../../rules/access/is-public.ts'
import { POLICY_BYTES_MAX, readBucketPolicy, readStoredBucketPolicy } from '../../rules/access/policy.ts'
import type { OperationContext } from '../context.ts'
import { type OperationResponse, operation, requires } from '../operation.ts'
import { wholeBody } from '../whole-body.ts'
import { storedAs } from './document.ts'

const stored = storedAs('policy')

async function policyText(ctx: OperationContext): Promise<string> {
  const text = await stored.text(ctx)
  if (text === undefined) throw new Fault('NoSuchBucketPolicy', { BucketName: ctx.bucket.name })
  return text
}

export const GetBucketPolicy = operation({
  name: 'GetBucketPolicy',
  match: { method: 'GET', on: 'bucket', requires: ['?policy'] },
  permission: requires('GetBucketPolicy'),
  input: {},
  async run(ctx): Promise<OperationResponse> {
    return { headers: [['content-type', 'application/json']], body: Buffer.from(await policyText(ctx)) }
  },
})

function decoded(body: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body)
  } catch {
    throw new Fault('MalformedPolicy', { reason: 'The policy is not UTF-8' })
  }
}

export const PutBucketPolicy = operation({
  name: 'PutBucketPolicy',
  match: { method: 'PUT', on: 'bucket', requires: ['?policy'] },
  permission: requires('PutBucketPolicy'),
  input: {},
  async run(ctx): Promise<OperationResponse> {
    const body = await wholeBody(ctx, { proof: 'none' })
    if (body.length > POLICY_BYTES_MAX) {
      throw new Fault('MalformedPolicy', { reason: `The policy's size is over ${POLICY_BYTES_MAX} bytes` })
    }
    const text = decoded(body)
    const policy = readBucketPolicy(text, ctx.bucket.name)
    checkPolicyNotPublic(policy, ctx.bucket.publicAccessBlock?.blockPublicPolicy === true)
    await stored.put(ctx, text)
    return { status: 204 }
  },
})

export const DeleteBucketPolicy = operation({
  name: 'DeleteBucketPolicy',
  match: { method: 'DELETE', on: 'bucket', requires: ['?policy'] },
  permission: requires('DeleteBucketPolicy'),
  input: {},
  async run(ctx): Promise<OperationResponse> {
    await stored.remove(ctx)
    return { status: 204 }
  },
})

export const GetBucketPolicyStatus = operation({
  name: 'GetBucketPolicyStatus',
  match: { method: 'GET', on: 'bucket', requires: ['?policyStatus'] },
  permission: requires('GetBucketPolicyStatus'),
  input: {},
  async run(ctx): Promise<OperationResponse> {
    const policy = readStoredBucketPolicy(await policyText(ctx))
    return {
      body: { root: 'PolicyStatus', write: (to: XmlWriter) => void to.leaf('IsPublic', isPublicPolicy(policy)) },
    }
  },
})
