/** Applies a payload rule: yields the decoded body, and fails when it does not match its signature or hash. */
import { BodyDigest } from '../digest/body-digest.ts'
import { Fault } from '../model/faults.ts'
import { decodeChunks } from './chunked-body.ts'
import type { PayloadRule } from './payload-rule.ts'

/** A consumer must reach the end before anything takes effect: only then are all checks complete. */
export function checkedBody(body: AsyncIterable<Buffer>, rule: PayloadRule): AsyncIterable<Buffer> {
  if (rule.kind === 'chunks') return decodeChunks(body, rule)
  if (rule.kind === 'sha256') return hashedBody(body, rule.hex)
  return body
}

async function* hashedBody(body: AsyncIterable<Buffer>, claimed: string): AsyncGenerator<Buffer, void> {
  const hash = new BodyDigest('sha256')
  try {
    for await (const piece of body) {
      const hashing = hash.update(piece)
      if (hashing !== undefined) await hashing
      yield piece
    }
    const computed = (await hash.digest()).toString('hex')
    if (computed !== claimed) {
      throw new Fault('XSvcContentSHA256Mismatch', {
        ClientComputedContentSHA256: claimed,
        SvcComputedContentSHA256: computed,
      })
    }
  } finally {
    hash.abandon()
  }
}
