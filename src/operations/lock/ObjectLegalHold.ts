/** The legal hold of a version: on or off, by permission alone and independent of retention (R38). */
import { BadXml, childWord, onlyChildren, rootNamed, type XmlNode } from '../../lib/xml.ts'
import type { XmlWriter } from '../../lib/xml-writer.ts'
import { Fault } from '../../model/faults.ts'
import { conditionsFromHold, KEYS_FROM_HOLD } from '../../rules/access/condition-values.ts'
import { headerName } from '../../rules/access/names.ts'
import type { OperationContext } from '../context.ts'
import { checkIntegrityHeaders } from '../integrity.ts'
import { refuseDeleteMarker } from '../object/refuse-delete-marker.ts'
import { operation, requires } from '../operation.ts'
import { readXml, wholeBody } from '../whole-body.ts'
import { needLocks } from './ObjectRetention.ts'

const WORDS = ['ON', 'OFF'] as const
type Word = (typeof WORDS)[number]

function readHold(root: XmlNode): Word {
  onlyChildren(rootNamed(root, 'LegalHold'), 'Status')
  const status = childWord(root, 'Status', WORDS)
  if (status === undefined) throw new BadXml('a hold has no status')
  return status
}

const invalid = (reason: string): Fault => new Fault('InvalidRequest', { reason })

/** D8, R109. */
function statusOf({ behavior }: OperationContext, body: Buffer): Word {
  try {
    return readXml(body, readHold)
  } catch (error) {
    const isFolded = error instanceof Fault && behavior.locks.badHold === 'InvalidRequest'
    throw isFolded ? new Fault('InvalidRequest', { reason: error.message, Reason: error.code }) : error
  }
}

/** R108. The specification lists bucket and key as parameters; if sent as such they must name this object. */
function checkNames({ request, target }: OperationContext): void {
  const [bucket, key] = [request.query('Bucket'), request.query('Key')]
  if (bucket !== undefined && bucket !== target.bucket) throw invalid('Bucket names another bucket than the request')
  if (key !== undefined && key !== target.key) throw invalid('Key names another object than the request')
}

/** R110. */
function holdInHeader({ request, behavior }: OperationContext): Word | undefined {
  if (!behavior.locks.holdInHeader) return undefined
  const name = headerName('legal-hold')
  const sent = request.header(':legal-hold')
  if (sent === undefined) throw invalid(`Missing required header for this request: ${name}`)
  const word = WORDS.find(one => one === sent)
  if (word === undefined) throw invalid(`Value for ${name} header is invalid.`)
  return word
}

export const PutObjectLegalHold = operation({
  name: 'PutObjectLegalHold',
  match: { method: 'PUT', on: 'object', requires: ['?legal-hold'] },
  // R115. A separate permission from writing the object.
  permission: requires('PutObjectLegalHold'),
  deferredKeys: KEYS_FROM_HOLD,
  foldsFaults: true,
  input: {},
  async run(ctx) {
    checkNames(ctx)
    const fromHeader = holdInHeader(ctx)
    checkIntegrityHeaders(ctx)
    needLocks(ctx)
    await refuseDeleteMarker(() => ctx.store.objects.head(ctx.target))
    // R111. The body needs a checksum.
    const body = await wholeBody(ctx, { proof: 'checksum' })
    const status = statusOf(ctx, body)
    // A legal instruction that contradicts itself must not be guessed at.
    if (fromHeader !== undefined && fromHeader !== status) {
      throw invalid(`The ${headerName('legal-hold')} header and the Status of the document differ`)
    }
    await ctx.authorizeDeferred(conditionsFromHold(status === 'ON'))
    await refuseDeleteMarker(() => ctx.store.objects.setHold(ctx.target, status === 'ON'))
    return {}
  },
})

/** R108. Without a key this is a bad request in one dialect, and not an operation in the other. */
export const PutLegalHoldWithoutKey = operation({
  name: 'PutLegalHoldWithoutKey',
  match: { method: 'PUT', on: 'bucket', requires: ['?legal-hold'] },
  permission: () => [],
  withoutBucket: true,
  input: {},
  async run(ctx) {
    throw ctx.behavior.locks.holdWithoutKey === 'InvalidRequest'
      ? invalid('A legal hold needs the key of an object')
      : new Fault('MethodNotAllowed', { Method: 'PUT', ResourceType: 'BUCKET' })
  },
})

export const GetObjectLegalHold = operation({
  name: 'GetObjectLegalHold',
  match: { method: 'GET', on: 'object', requires: ['?legal-hold'] },
  permission: requires('GetObjectLegalHold'),
  input: {},
  async run(ctx) {
    needLocks(ctx)
    const { lock } = await ctx.store.objects.head(ctx.target)
    if (lock.hold === undefined) throw new Fault('NoSuchObjectLockConfiguration')
    const status: Word = lock.hold ? 'ON' : 'OFF'
    return { body: { root: 'LegalHold', write: (to: XmlWriter) => void to.leaf('Status', status) } }
  },
})
