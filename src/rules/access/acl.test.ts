import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EXEC_CANONICAL_ID } from '../../model/account.ts'
import { Fault, type FaultCode } from '../../model/faults.ts'
import type { Grant } from '../../model/version.ts'
import {
  BUCKET_CANNED,
  type Canned,
  checkAclSupported,
  checkNotPublic,
  effectiveAcl,
  expandCanned,
  isPublicAcl,
  newObjectOwner,
  OBJECT_CANNED,
  permissionFor,
  readCanned,
} from './acl.ts'
import { checkSameOwner, chooseSource, type GranteeDirectory, resolveGrants } from './acl-request.ts'
import { ACTIONS, type Action } from './actions.ts'
import { readGrantHeaders } from './grant-headers.ts'
import { actionNames, GROUP_URIS, neutralAction } from './names.ts'

const O = 'a'.repeat(64)
const B = 'b'.repeat(64)

function faultOf(run: () => unknown, code: FaultCode): Fault['detail'] {
  try {
    run()
  } catch (error) {
    assert(error instanceof Fault, String(error))
    assert.equal(error.code, code)
    return error.detail
  }
  assert.fail(`no ${code}`)
}

test('G9: canned ACLs, as a table', () => {
  const shown = (canned: Canned, bucketOwner = B): string[] =>
    expandCanned(canned, { owner: O, bucketOwner }).map(({ grantee, permission }) => {
      const name = grantee === O ? 'O' : grantee === B ? 'B' : grantee === EXEC_CANONICAL_ID ? 'exec' : grantee
      return `${name} ${permission}`
    })
  const rows: [Canned, string[]][] = [
    ['private', []],
    ['public-read', ['AllUsers READ']],
    ['public-read-write', ['AllUsers READ', 'AllUsers WRITE']],
    ['authenticated-read', ['AuthenticatedUsers READ']],
    ['bucket-owner-read', ['B READ']],
    ['bucket-owner-full-control', ['B FULL_CONTROL']],
    ['exec-read', ['exec READ']],
    ['log-delivery-write', ['LogDelivery WRITE', 'LogDelivery READ_ACP']],
  ]
  for (const [canned, more] of rows) assert.deepEqual(shown(canned), ['O FULL_CONTROL', ...more], canned)
  assert.deepEqual(shown('bucket-owner-read', O), ['O FULL_CONTROL'])
  assert.deepEqual(shown('bucket-owner-full-control', O), ['O FULL_CONTROL'])
  assert.equal(EXEC_CANONICAL_ID, '925cfbbe5569c999bdc8f0c0c8d98908be45fd7c6330058c6a64d15a4de3873d')
})

test('R32 D13: a canned ACL that the operation does not accept is refused with its value', () => {
  assert.equal(readCanned('public-read', OBJECT_CANNED), 'public-read')
  const withExec = [...OBJECT_CANNED, 'exec-read'] as const
  assert.equal(readCanned('svc-exec-read', withExec), 'exec-read')
  faultOf(() => readCanned('aws-exec-read', withExec), 'InvalidArgument')
  assert.equal(readCanned('log-delivery-write', BUCKET_CANNED), 'log-delivery-write')
  for (const value of ['svc-exec-read', 'exec-read', 'Private', '', 'log-delivery-write', '__proto__']) {
    const detail = faultOf(() => readCanned(value, OBJECT_CANNED), 'InvalidArgument')
    assert.deepEqual(detail, { ArgumentName: 'x-svc-acl', ArgumentValue: value })
  }
  faultOf(() => readCanned('exec-read', withExec), 'InvalidArgument')
})

test('G7: each permission grants its actions', () => {
  const given = new Map<string, Action[]>()
  for (const action of ACTIONS.keys()) {
    const found = permissionFor(action)
    if (found === undefined) continue
    const name = `${found.permission} on ${found.on}`
    given.set(name, [...(given.get(name) ?? []), action].sort())
  }
  assert.deepEqual(Object.fromEntries(given), {
    'READ on bucket': ['ListBucket', 'ListBucketMultipartUploads', 'ListBucketVersions'],
    'WRITE on bucket': ['DeleteObject', 'PutObject'],
    'READ_ACP on bucket': ['GetBucketAcl'],
    'WRITE_ACP on bucket': ['PutBucketAcl'],
    'READ on object': ['GetObject', 'GetObjectAttributes', 'GetObjectVersion', 'GetObjectVersionAttributes'],
    'READ_ACP on object': ['GetObjectAcl', 'GetObjectVersionAcl'],
    'WRITE_ACP on object': ['PutObjectAcl', 'PutObjectVersionAcl'],
  })
})

test('G2: every action reads back from its names in both dialects', () => {
  for (const action of ACTIONS.keys()) {
    for (const name of actionNames(action)) assert.equal(neutralAction(name), action.toLowerCase())
  }
})

test('G6: the owner of a new object follows the bucket’s mode', () => {
  const own = (ownership: Parameters<typeof newObjectOwner>[0]['ownership'], canned?: Canned) =>
    newObjectOwner({ ownership, bucketOwner: B, writer: O, canned })
  assert.equal(own('ObjectWriter'), O)
  assert.equal(own('ObjectWriter', 'bucket-owner-full-control'), O)
  assert.equal(own('BucketOwnerPreferred'), O)
  assert.equal(own('BucketOwnerPreferred', 'bucket-owner-read'), O)
  assert.equal(own('BucketOwnerPreferred', 'bucket-owner-full-control'), B)
  assert.equal(own('BucketOwnerEnforced'), B)
})

test('G6 G10: under BucketOwnerEnforced ACLs have no effect and cannot be changed', () => {
  const listed = { ownerCanonicalId: O, grants: expandCanned('public-read', { owner: O, bucketOwner: B }) }
  assert.deepEqual(effectiveAcl(listed, 'ObjectWriter', B), listed)
  const own: Grant = { grantee: B, group: false, permission: 'FULL_CONTROL' }
  assert.deepEqual(effectiveAcl(listed, 'BucketOwnerEnforced', B), { ownerCanonicalId: B, grants: [own] })
  const refused = (canned: Canned | undefined, grants: Grant[]) =>
    faultOf(() => checkAclSupported('BucketOwnerEnforced', B, { canned, grants }), 'AccessControlListNotSupported')
  refused(undefined, [])
  refused('private', [own])
  refused(undefined, [{ ...own, permission: 'READ' }])
  refused(undefined, [own, { ...own, grantee: O }])
  refused(undefined, [{ ...own, group: true }])
  checkAclSupported('BucketOwnerEnforced', B, { canned: undefined, grants: [own] })
  checkAclSupported('BucketOwnerEnforced', B, { canned: 'bucket-owner-full-control', grants: [own] })
  checkAclSupported('BucketOwnerPreferred', B, { canned: undefined, grants: [] })
})

test('G10: BlockPublicAcls refuses grants to public groups', () => {
  const of = (canned: Canned) => expandCanned(canned, { owner: O, bucketOwner: B })
  for (const canned of ['public-read', 'public-read-write', 'authenticated-read'] as const) {
    assert.equal(isPublicAcl(of(canned)), true, canned)
    faultOf(() => checkNotPublic(of(canned), true), 'AccessDenied')
    checkNotPublic(of(canned), false)
  }
  for (const canned of ['private', 'bucket-owner-read', 'exec-read', 'log-delivery-write'] as const) {
    assert.equal(isPublicAcl(of(canned)), false, canned)
    checkNotPublic(of(canned), true)
  }
  // An account whose id equals a group's name is not a group.
  assert.equal(isPublicAcl([{ grantee: 'AllUsers', group: false, permission: 'READ' }]), false)
})

const DIRECTORY: GranteeDirectory = {
  isCanonicalId: id => id === O || id === B,
  canonicalIdsOf: email => (email === 'o@x' ? [O] : email === 'two@x' ? [O, B] : []),
}

test('R102: exactly one of canned name, grant headers and body', () => {
  const from = (canned: string | undefined, hasGrantHeaders: boolean, hasBody: boolean) => () =>
    chooseSource({ canned, hasGrantHeaders, hasBody })
  assert.equal(from('private', false, false)(), 'canned')
  assert.equal(from(undefined, true, false)(), 'headers')
  assert.equal(from(undefined, false, true)(), 'body')
  const reason = 'Specifying both Canned ACLs and Header Grants is not allowed'
  assert.equal(faultOf(from('private', true, true), 'InvalidRequest').reason, reason)
  faultOf(from('private', false, true), 'UnexpectedContent')
  faultOf(from(undefined, true, true), 'UnexpectedContent')
  assert.deepEqual(faultOf(from(undefined, false, false), 'MissingSecurityHeader'), { MissingHeaderName: 'x-svc-acl' })
})

test('R56: grant headers list exactly their grants, in either spelling of a group', () => {
  const sent = new Map([
    ['grant-read', `id="${O}", uri="${GROUP_URIS.AllUsers.s3}",emailAddress="o@x"`],
    ['grant-full-control', ` uri = ${GROUP_URIS.AuthenticatedUsers.svc} , id=${B}`],
  ])
  const grants = resolveGrants(readGrantHeaders(sent), DIRECTORY, 'header')
  assert.deepEqual(grants, [
    { grantee: 'AuthenticatedUsers', group: true, permission: 'FULL_CONTROL' },
    { grantee: B, group: false, permission: 'FULL_CONTROL' },
    { grantee: O, group: false, permission: 'READ' },
    { grantee: 'AllUsers', group: true, permission: 'READ' },
    { grantee: O, group: false, permission: 'READ' },
  ])
})

test('R56 G10: grant headers that cannot be read or resolved', () => {
  const set = (value: string) => () =>
    resolveGrants(readGrantHeaders(new Map([['grant-write-acp', value]])), DIRECTORY, 'header')
  for (const value of [
    '',
    'x',
    `${O}`,
    'id=',
    `name="${O}"`,
    `id="${O}",`,
    `id="${O}`,
    `id="${O}" id="${O}"`,
    'ID="x"',
  ]) {
    const detail = faultOf(set(value), 'InvalidArgument')
    assert.deepEqual(detail, {
      reason: 'Argument format not recognized',
      ArgumentName: 'x-svc-grant-write-acp',
      ArgumentValue: value,
    })
  }
  assert.deepEqual(faultOf(set('id="nobody"'), 'InvalidArgument'), {
    reason: 'Invalid id',
    ArgumentName: 'id',
    ArgumentValue: 'nobody',
  })
  const group = faultOf(set('uri="http://acs.svc/groups/global/Nobody"'), 'InvalidArgument')
  assert.equal(group.reason, 'Invalid group uri')
  assert.equal(group.ArgumentName, 'uri')
  faultOf(set('emailAddress="nobody@x"'), 'UnresolvableGrantByEmailAddress')
  faultOf(set('emailAddress="two@x"'), 'AmbiguousGrantByEmailAddress')
  set(new Array(100).fill(`id=${O}`).join(','))()
  faultOf(set(new Array(101).fill(`id=${O}`).join(',')), 'MalformedACLError')
})

test('G10: an ACL never changes the owner', () => {
  checkSameOwner(O, O, DIRECTORY)
  faultOf(() => checkSameOwner(B, O, DIRECTORY), 'AccessDenied')
  assert.equal(faultOf(() => checkSameOwner('x', O, DIRECTORY), 'InvalidArgument').ArgumentName, 'CanonicalUser/ID')
})
