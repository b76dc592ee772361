/**
 * Callers, requests and bucket states, of which every combination is tested. The slow reference provides the expected
 * results; this file knows neither the evaluator nor the edge.
 */
import { ANONYMOUS_CANONICAL_ID, type Caller } from '../../src/model/caller.ts'
import type { Grant, Permission } from '../../src/model/grant.ts'
import type { Action } from '../../src/rules/access/actions.ts'
import type { AccessRequest, BucketFacts } from '../../src/rules/access/evaluate.ts'
import { MAIN, OTHER, type Who } from '../http/server.ts'
import { referenceStatus } from './reference.ts'

export const BUCKET = 'matrix-bucket'

export const EVERYTHING = { Version: '2012-10-17', Statement: [{ Effect: 'Allow', Action: '*', Resource: '*' }] }
export const ONLY_READ = {
  Version: '2012-10-17',
  Statement: [{ Effect: 'Allow', Action: ['svc:Get*', 'svc:ListBucket'], Resource: '*' }],
}

export interface Asker {
  readonly name: string
  /** Null sends no signature. */
  readonly as: Who | null
  readonly caller: Caller
}

const accountOf = ({ accountId, canonicalId }: Who) => ({
  accountId,
  canonicalId,
  displayName: '',
  email: undefined,
})

export const keyOf = (of: Who, user: string): Who => ({
  ...of,
  accessKey: `AK${of.accountId.slice(0, 2)}${user.toUpperCase()}`,
  secretKey: `secret-of-${user}-${of.accountId}`,
})

/** Users of both accounts: without a policy, with one that reads, with one that allows everything. */
export const USERS: readonly { readonly name: string; readonly policies: readonly object[] }[] = [
  { name: 'bare', policies: [] },
  { name: 'reads', policies: [ONLY_READ] },
  { name: 'full', policies: [EVERYTHING] },
]

const askersOf = (name: string, of: Who): Asker[] => [
  { name, as: of, caller: { kind: 'account', account: accountOf(of), accessKey: of.accessKey } },
  ...USERS.map(({ name: user, policies }): Asker => {
    const as = keyOf(of, user)
    const held = { name: user, policies: policies.map(policy => JSON.stringify(policy)) }
    const caller: Caller = { kind: 'user', account: accountOf(of), user: held, accessKey: as.accessKey }
    return { name: `${name}/${user}`, as, caller }
  }),
]

export const ASKERS: readonly Asker[] = [
  ...askersOf('owner', MAIN),
  ...askersOf('other', OTHER),
  { name: 'anonymous', as: null, caller: { kind: 'anonymous' } },
]

export interface State {
  readonly name: string
  readonly facts: BucketFacts
  readonly objectOwner: string
  readonly objectGrants: readonly Grant[]
}

const PERMISSIONS: readonly Permission[] = ['READ', 'WRITE', 'READ_ACP', 'WRITE_ACP', 'FULL_CONTROL']
const GRANTEES: readonly (readonly [string, boolean])[] = [
  [OTHER.canonicalId, false],
  ['AuthenticatedUsers', true],
  ['AllUsers', true],
  [ANONYMOUS_CANONICAL_ID, false],
]
const GRANTS: readonly Grant[] = PERMISSIONS.flatMap(permission =>
  GRANTEES.map(([grantee, group]) => ({ grantee, group, permission })),
)

const both = [`arn:svc:svc:::${BUCKET}`, `arn:aws:s3:::${BUCKET}/*`]
const statement = (effect: string, who: object, more: object = {}): object => ({
  Effect: effect,
  ...who,
  Action: '*',
  Resource: both,
  ...more,
})
const other = { SVC: OTHER.accountId }
const user = (name: string): object => ({ Principal: { AWS: `arn:aws:iam::${OTHER.accountId}:user/${name}` } })

/** By effect. */
const POLICIES: Readonly<Record<string, readonly object[] | undefined>> = {
  none: undefined,
  'allows the other account': [statement('Allow', { Principal: other })],
  'allows it by its canonical id': [statement('Allow', { Principal: { CanonicalUser: OTHER.canonicalId } })],
  'allows one user of it': [statement('Allow', user('bare'))],
  'allows everyone': [statement('Allow', { Principal: '*' })],
  'allows everyone to read': [statement('Allow', { Principal: '*' }, { Action: ['svc:GetObject', 's3:ListBucket'] })],
  'allows all but reading': [statement('Allow', { Principal: '*' }, { Action: undefined, NotAction: 's3:GetObject' })],
  'allows elsewhere': [
    statement('Allow', { Principal: '*' }, { Resource: undefined, NotResource: `arn:svc:svc:::${BUCKET}/k*` }),
  ],
  'denies everyone': [statement('Deny', { Principal: '*' })],
  'denies the other account': [statement('Deny', { Principal: other })],
  'denies all but the other account': [
    statement('Deny', { NotPrincipal: other }, { Action: ['s3:GetObject', 's3:PutObject*'] }),
  ],
  'allows everyone, denies writing': [
    statement('Allow', { Principal: '*' }),
    statement('Deny', { Principal: '*' }, { Action: 'svc:PutObject' }),
  ],
}

const BLOCKS = [
  { ignorePublicAcls: false, restrictPublicBuckets: false },
  { ignorePublicAcls: true, restrictPublicBuckets: false },
  { ignorePublicAcls: false, restrictPublicBuckets: true },
  { ignorePublicAcls: true, restrictPublicBuckets: true },
].map(block => ({ ...block, blockPublicAcls: false, blockPublicPolicy: false }))

const MODES = ['ObjectWriter', 'BucketOwnerPreferred', 'BucketOwnerEnforced'] as const
const OWNERS = [MAIN.canonicalId, OTHER.canonicalId, ANONYMOUS_CANONICAL_ID]

interface Choice {
  readonly policy: string
  readonly ownership: (typeof MODES)[number]
  readonly block: number
  readonly owner: string
  readonly bucketGrants: readonly Grant[]
  readonly objectGrants: readonly Grant[]
}

const PLAIN: Choice = {
  policy: 'none',
  ownership: 'ObjectWriter',
  block: 0,
  owner: MAIN.canonicalId,
  bucketGrants: [],
  objectGrants: [],
}

function stateOf(choice: Choice): State {
  const { policy, ownership, block, owner, bucketGrants, objectGrants } = choice
  const statements = POLICIES[policy]
  const grants = [...bucketGrants.map(g => ['bucket', g]), ...objectGrants.map(g => ['object', g])]
  return {
    name: JSON.stringify({ policy, ownership, block: BLOCKS[block], owner: owner.slice(0, 6), grants }),
    objectOwner: owner,
    objectGrants,
    facts: {
      ownerAccountId: MAIN.accountId,
      ownerCanonicalId: MAIN.canonicalId,
      policy: statements && JSON.stringify({ Version: '2012-10-17', Statement: statements }),
      grants: bucketGrants,
      ownership,
      publicAccessBlock: BLOCKS[block]!,
    },
  }
}

/** Grants on bucket or object, alone. */
const GRANTED: readonly Partial<Choice>[] = [
  {},
  ...GRANTS.flatMap(grant => [{ bucketGrants: [grant] }, { objectGrants: [grant] }]),
]

const PUBLIC: Partial<Choice> = {
  bucketGrants: GRANTS.filter(({ grantee }) => grantee === 'AllUsers'),
  objectGrants: GRANTS.filter(({ grantee }) => grantee === 'AllUsers'),
}

/** Every possible state: for the evaluator alone, which is fast. */
export function* allStates(): Generator<State> {
  for (const policy of Object.keys(POLICIES))
    for (const ownership of MODES)
      for (const block of BLOCKS.keys())
        for (const owner of OWNERS)
          for (const granted of GRANTED) yield stateOf({ ...PLAIN, policy, ownership, block, owner, ...granted })
}

/** Each grant, mode, block, policy and owner with those it interacts with most: for real requests. */
export function* fewStates(): Generator<State> {
  for (const owner of OWNERS) for (const granted of GRANTED) yield stateOf({ ...PLAIN, owner, ...granted })
  for (const ownership of MODES)
    for (const block of BLOCKS.keys())
      yield stateOf({ ...PLAIN, ownership, block, ...PUBLIC, policy: 'allows everyone' })
  for (const policy of Object.keys(POLICIES))
    for (const owner of OWNERS)
      yield stateOf({ ...PLAIN, policy, owner, ...(owner === MAIN.canonicalId ? {} : PUBLIC) })
}

/** One permission that a request requires. */
export interface Wanted {
  readonly action: Action
  /** `stored`: the existing object; `new`: the object being created; `own`: one that its writer will own. */
  readonly about: 'bucket' | 'stored' | 'new' | 'own'
  readonly key?: string
  /** ACLs do not help anonymous callers. */
  readonly needsName?: boolean
}

export function requestOf({ facts, objectOwner, objectGrants }: State, caller: Caller, wanted: Wanted): AccessRequest {
  const { action, about, key = 'k', needsName = false } = wanted
  const withoutLists = needsName && caller.kind === 'anonymous'
  const stored = { ownerCanonicalId: objectOwner, grants: objectGrants, tags: [] }
  const own = caller.kind === 'anonymous' ? undefined : { ...stored, ownerCanonicalId: caller.account.canonicalId }
  return {
    caller,
    action,
    resource: about === 'bucket' ? { bucket: BUCKET } : { bucket: BUCKET, key },
    bucket: withoutLists ? { ...facts, grants: [] } : facts,
    object:
      about === 'stored'
        ? { ...stored, grants: withoutLists ? [] : objectGrants }
        : about === 'own' && own
          ? { ...own, grants: [] }
          : undefined,
    context: new Map(),
    ofNewObject: about === 'own',
  }
}

/** 200 represents any response to an authorized caller. */
export const expected = (state: State, caller: Caller, wanted: readonly Wanted[]): 200 | 403 | 405 =>
  wanted.map(one => referenceStatus(requestOf(state, caller, one))).find(status => status !== 200) ?? 200
