/** Grant headers (R56): each grants a permission to a list such as `id="…", uri="…", emailAddress="…"`. */
import { Fault } from '../../model/faults.ts'
import type { Permission } from '../../model/version.ts'
import { GRANTS_MAX, type RequestedGrant } from './acl-request.ts'
import { headerName } from './names.ts'

/** Neutral header names and the permission they grant, in the order of the resulting grants. */
export const GRANT_HEADERS: ReadonlyMap<string, Permission> = new Map<string, Permission>([
  ['grant-full-control', 'FULL_CONTROL'],
  ['grant-read', 'READ'],
  ['grant-write', 'WRITE'],
  ['grant-read-acp', 'READ_ACP'],
  ['grant-write-acp', 'WRITE_ACP'],
])

const KINDS: ReadonlyMap<string, RequestedGrant['by']> = new Map([
  ['id', 'id'],
  ['uri', 'uri'],
  ['emailAddress', 'email'],
] as const)

/** One grantee and the comma or end after it. Quotes are optional, since some clients omit them. */
const GRANTEE = /[ \t]*([^=,"\s]+)[ \t]*=[ \t]*(?:"([^"]*)"|([^",\s]+))[ \t]*(,|$)/y

/** `sent` maps neutral header names to their values. */
export function readGrantHeaders(sent: ReadonlyMap<string, string>): RequestedGrant[] {
  const grants: RequestedGrant[] = []
  for (const [header, permission] of GRANT_HEADERS) {
    const value = sent.get(header)
    if (value !== undefined) grants.push(...readGrantees(header, value, permission))
  }
  if (grants.length > GRANTS_MAX) throw new Fault('MalformedACLError')
  return grants
}

function readGrantees(header: string, value: string, permission: Permission): RequestedGrant[] {
  const grants: RequestedGrant[] = []
  let at = 0
  let isOpen = true
  while (isOpen) {
    GRANTEE.lastIndex = at
    const match = GRANTEE.exec(value)
    const by = match === null ? undefined : KINDS.get(match[1]!)
    if (match === null || by === undefined) {
      const detail = { ArgumentName: headerName(header), ArgumentValue: value }
      throw new Fault('InvalidArgument', { reason: 'Argument format not recognized', ...detail })
    }
    grants.push({ by, value: match[2] ?? match[3]!, permission })
    at = match.index + match[0].length
    isOpen = match[4] === ','
  }
  return grants
}
