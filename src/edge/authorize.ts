/** Collects the facts that a decision about access needs, and asks the one evaluator. */
import type { RawRequest } from '../lib/raw-request.ts'
import type { Bucket } from '../model/bucket.ts'
import { type Caller, callerName } from '../model/caller.ts'
import { Fault } from '../model/faults.ts'
import type { Accounts } from '../operations/context.ts'
import type { Need, ObjectName, Operation } from '../operations/operation.ts'
import { actionFacts } from '../rules/access/actions.ts'
import {
  type AccessRequest,
  type BucketFacts,
  evaluate,
  mayLearnAbsence,
  type ObjectFacts,
} from '../rules/access/evaluate.ts'
import type { View } from './request-view.ts'

/** Looks facts up; the composition hands it in, so that the edge knows no store. */
export interface FactFinder {
  bucket(name: string): Promise<Bucket>
  document(bucket: string, name: string): Promise<string | undefined>
  /** Undefined when there is no such object. */
  object(name: ObjectName): Promise<ObjectFacts | undefined>
  /** Who began the upload; undefined when there is no such upload. */
  initiator(name: ObjectName, uploadId: string): Promise<string | undefined>
}

const NO_BLOCK = {
  blockPublicAcls: false,
  ignorePublicAcls: false,
  blockPublicPolicy: false,
  restrictPublicBuckets: false,
}

/** Headers and parameters that policies may ask about, by neutral condition key. */
const FROM_HEADERS = [
  'acl',
  'content-sha256',
  'copy-source',
  'grant-full-control',
  'grant-read',
  'grant-read-acp',
  'grant-write',
  'grant-write-acp',
  'metadata-directive',
  'object-lock-legal-hold',
  'object-lock-mode',
  'object-lock-retain-until-date',
  'object-ownership',
  'server-side-encryption',
  'server-side-encryption-customer-algorithm',
  'server-side-encryption-kms-key-id',
  'storage-class',
  'website-redirect-location',
] as const

export interface Asking {
  readonly request: RawRequest
  readonly view: View
  readonly caller: Caller
  readonly operation: Operation
  readonly target: ObjectName
  readonly now: number
  readonly remoteAddress: string
  readonly secure: boolean
}

function contextOf({ view, now, remoteAddress, secure }: Asking, name: ObjectName): Map<string, readonly string[]> {
  const context = new Map<string, readonly string[]>()
  const set = (key: string, value: string | undefined): void => {
    if (value !== undefined) context.set(key, [value])
  }
  for (const key of FROM_HEADERS) set(key, view.header(`:${key}`))
  for (const key of ['prefix', 'delimiter', 'max-keys']) set(key, view.query(key))
  set('versionid', name.versionId)
  set('referer', view.header('referer'))
  set('useragent', view.header('user-agent'))
  set('if-match', view.header('if-match'))
  set('if-none-match', view.header('if-none-match'))
  set('sourceip', remoteAddress.replace(/^::ffff:/, ''))
  set('securetransport', String(secure))
  set('currenttime', new Date(now).toISOString())
  set('epochtime', String(Math.floor(now / 1000)))
  return context
}

/** An object that is about to be made, and that the caller will own unless the bucket's mode decides otherwise. */
function newObject({ caller }: Asking): ObjectFacts | undefined {
  if (caller.kind === 'anonymous') return undefined
  return { ownerCanonicalId: caller.account.canonicalId, grants: [], tags: [] }
}

export class Authorizer {
  readonly #facts: FactFinder
  readonly #accounts: Accounts

  constructor(facts: FactFinder, accounts: Accounts) {
    this.#facts = facts
    this.#accounts = accounts
  }

  async bucketFacts(bucket: Bucket): Promise<BucketFacts> {
    return {
      ownerAccountId: this.#accounts.byCanonicalId(bucket.owner)?.accountId ?? '',
      ownerCanonicalId: bucket.owner,
      policy: bucket.documents.includes('policy') ? await this.#facts.document(bucket.name, 'policy') : undefined,
      grants: bucket.grants,
      ownership: bucket.ownership ?? 'ObjectWriter',
      publicAccessBlock: bucket.publicAccessBlock ?? NO_BLOCK,
    }
  }

  /** Every need must hold. A key that is missing is told only to those who could have listed it. */
  async check(asking: Asking, needs: readonly Need[], bucket: Bucket | undefined): Promise<void> {
    for (const need of needs) {
      const request = await this.#requestFor(asking, need, bucket)
      if (evaluate(request).allowed) continue
      if (need.ofNew === undefined && this.#isAboutMissing(request) && mayLearnAbsence(request).allowed) continue
      throw new Fault('AccessDenied')
    }
  }

  async may(asking: Asking, need: Need, bucket: Bucket | undefined): Promise<boolean> {
    return evaluate(await this.#requestFor(asking, need, bucket)).allowed
  }

  #isAboutMissing({ action, object }: AccessRequest): boolean {
    const { on, judgedBy } = actionFacts(action)
    return on === 'object' && judgedBy === 'object' && object === undefined
  }

  /** R99. Whoever began an upload may look at its parts and give it up. */
  async #isInitiator({ view, caller, operation }: Asking, name: ObjectName): Promise<boolean> {
    const uploadId = view.query('uploadId')
    if (!operation.ofUpload || uploadId === undefined || caller.kind === 'anonymous') return false
    return (await this.#facts.initiator(name, uploadId)) === callerName(caller)
  }

  async #requestFor(asking: Asking, need: Need, bucket: Bucket | undefined): Promise<AccessRequest> {
    const name = need.on ?? asking.target
    const { on, judgedBy } = actionFacts(need.do)
    const isHere = need.on === undefined || need.on.bucket === bucket?.name
    const at = isHere ? bucket : await this.#facts.bucket(name.bucket)
    const facts = at === undefined ? undefined : await this.bucketFacts(at)
    const stored = need.ofNew === undefined && on === 'object' && judgedBy === 'object'
    const object = need.ofNew === 'writer' ? newObject(asking) : stored ? await this.#facts.object(name) : undefined
    const isInitiator = on === 'object' && (await this.#isInitiator(asking, name))
    return {
      caller: asking.caller,
      action: need.do,
      resource:
        on === 'service' ? {} : on === 'bucket' ? { bucket: name.bucket } : { bucket: name.bucket, key: name.key },
      bucket: facts,
      object,
      context: contextOf(asking, name),
      isInitiator,
      ...(asking.operation.anonymousNeedsPolicy ? { anonymousNeedsPolicy: true } : {}),
    }
  }
}
