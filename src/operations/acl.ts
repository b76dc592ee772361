/** ACLs in requests and responses; rules/access decides what they mean. */
import type { XmlDocument, XmlWriter } from '../lib/xml-writer.ts'
import { ANONYMOUS_CANONICAL_ID } from '../model/caller.ts'
import { Fault } from '../model/faults.ts'
import type { Grant } from '../model/grant.ts'
import {
  type Canned,
  checkAclSupported,
  checkNotPublic,
  expandCanned,
  type Owners,
  readCanned,
} from '../rules/access/acl.ts'
import { readAclDocument } from '../rules/access/acl-document.ts'
import {
  checkOneHeaderKind,
  checkSameOwner,
  chooseSource,
  type GranteeDirectory,
  resolveGrants,
} from '../rules/access/acl-request.ts'
import { GRANT_HEADERS, readGrantHeaders } from '../rules/access/grant-headers.ts'
import type { Group } from '../rules/access/names.ts'
import { writeOwner } from './bucket/listings.ts'
import type { AccountLookup, OperationContext } from './context.ts'
import { checkIntegrityHeaders } from './integrity.ts'
import { readXml, wholeBody } from './whole-body.ts'

/** Grantees of the current ACL stay valid, so that an ACL can be sent back as it was read. */
const directoryOf = (accounts: AccountLookup, current: readonly Grant[] = []): GranteeDirectory => ({
  isCanonicalId: id =>
    accounts.byCanonicalId(id) !== undefined ||
    id === ANONYMOUS_CANONICAL_ID ||
    current.some(({ group, grantee }) => !group && grantee === id),
  canonicalIdsOf: email => accounts.byEmail(email).map(({ canonicalId }) => canonicalId),
})

function aclHeaders({ request }: OperationContext) {
  const grants = new Map<string, string>()
  for (const name of GRANT_HEADERS.keys()) {
    const value = request.header(`:${name}`)
    if (value !== undefined) grants.set(name, value)
  }
  return { canned: request.header(':acl'), grants, hasGrantHeaders: grants.size > 0 }
}

/** R56. The ACL that the headers of a creating request ask for; undefined when they ask for none. */
export function grantsFromHeaders(
  ctx: OperationContext,
  allowed: readonly Canned[],
  owners: Owners,
): Grant[] | undefined {
  const sent = aclHeaders(ctx)
  if (sent.canned === undefined && !sent.hasGrantHeaders) return undefined
  checkOneHeaderKind(sent)
  if (sent.canned !== undefined) return expandCanned(readCanned(sent.canned, allowed), owners)
  return resolveGrants(readGrantHeaders(sent.grants), directoryOf(ctx.accounts), 'header')
}

/** The ACL that a request replaces. */
interface AclRequestResult extends Owners {
  /** The current ACL. */
  readonly grants: readonly Grant[]
}

/** Checks the headers of a request that sets an ACL, whatever its body contains. */
export function checkAclHeaders(ctx: OperationContext, allowed: readonly Canned[]): void {
  const sent = aclHeaders(ctx)
  const { length } = ctx.body
  // A body of unknown length may be empty or not, so neither case is refused.
  const hasBody = sent.canned !== undefined || sent.hasGrantHeaders ? (length ?? 0) > 0 : length !== 0
  const source = chooseSource({ ...sent, hasBody })
  if (source === 'canned') readCanned(sent.canned!, allowed)
  if (source === 'headers') readGrantHeaders(sent.grants)
  checkIntegrityHeaders(ctx)
}

/** R102, R103, G10. The ACL that a request sets: by canned name, by grant headers or by document. */
export async function requestedGrants(
  ctx: OperationContext,
  allowed: readonly Canned[],
  listed: AclRequestResult,
): Promise<Grant[]> {
  const sent = aclHeaders(ctx)
  // An unexpected body is reported as such, before its missing checksum.
  checkAclHeaders(ctx, allowed)
  const body = await wholeBody(ctx, { proof: 'signed hash' })
  const source = chooseSource({ ...sent, hasBody: body.length > 0 })
  const canned = source === 'canned' ? readCanned(sent.canned!, allowed) : undefined
  const grants =
    canned === undefined ? spelledOut(ctx, { ...sent, source, body }, listed) : expandCanned(canned, listed)
  checkAclSupported(ctx.bucket.ownership ?? 'ObjectWriter', listed.bucketOwner, { canned, grants })
  checkNotPublic(grants, ctx.bucket.publicAccessBlock?.blockPublicAcls === true)
  return grants
}

interface SpelledOut {
  readonly source: 'canned' | 'headers' | 'body'
  readonly grants: ReadonlyMap<string, string>
  readonly body: Buffer
}

function spelledOut(
  ctx: OperationContext,
  { source, grants: headers, body }: SpelledOut,
  { owner, grants }: AclRequestResult,
): Grant[] {
  const directory = directoryOf(ctx.accounts, grants)
  if (source === 'headers') return resolveGrants(readGrantHeaders(headers), directory, 'header')
  const document = readXml(body, root => readAclDocument(root, ctx.behavior.acl), 'MalformedACLError')
  checkSameOwner(document.ownerId, owner, directory)
  return resolveGrants(document.grants, directory, 'body')
}

const XSI = 'http://www.w3.org/2001/XMLSchema-instance'

function writeGrantee(to: XmlWriter, ctx: OperationContext, { group, grantee }: Grant): void {
  to.open('Grantee', { 'xmlns:xsi': XSI, 'xsi:type': group ? 'Group' : 'CanonicalUser' })
  if (group) {
    to.leaf('URI', ctx.behavior.groupUris[grantee as Group])
  } else {
    to.leaf('ID', grantee)
    to.leaf('DisplayName', ctx.accounts.byCanonicalId(grantee)?.displayName)
  }
  to.close()
}

/** R30. */
export function listDocument(ctx: OperationContext, owner: string, grants: readonly Grant[]): XmlDocument {
  return {
    root: 'AccessControlPolicy',
    write(to) {
      writeOwner(to, ctx, owner)
      to.open('AccessControlList')
      for (const grant of grants) {
        to.open('Grant')
        writeGrantee(to, ctx, grant)
        to.leaf('Permission', grant.permission)
        to.close()
      }
      to.close()
    },
  }
}

/** Whether the ACL grants anything to anyone but its owner. */
const reachesOthers = (grants: readonly Grant[], owner: string): boolean =>
  grants.some(({ group, grantee }) => group || grantee !== owner)

/** An ACL that grants access to others contradicts a mode that disables ACLs. */
export function checkListFitsOwnership(grants: readonly Grant[], owner: string, ownership: string | undefined): void {
  if (ownership === 'BucketOwnerEnforced' && reachesOthers(grants, owner)) {
    throw new Fault('InvalidBucketAclWithObjectOwnership')
  }
}
