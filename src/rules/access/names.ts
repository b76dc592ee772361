/**
 * Names that the two dialects spell differently, as far as access rules use them; no other file of these rules knows
 * that there are two. Both spellings are accepted everywhere and compared in the neutral form.
 */
import { foldCase } from './fold-case.ts'

const ACTION_PREFIX = /^(?:svc|s3):/
const RESOURCE_PREFIX = /^arn:(?:svc:svc|aws:s3):::/
const ACCOUNT_PRINCIPAL = /^arn:(?:svc|aws):iam::(\d{12}):root$/
const USER_PRINCIPAL = /^arn:(?:svc|aws):iam::(\d{12}):user\/(.+)$/s
const KEY_PREFIX = /^(?:svc|s3|aws):/
const HEADER_PREFIX = /^x-(?:svc|amz)-/
/** Services whose condition keys also apply to requests to other services. */
const CROSS_SERVICE_KEY = /^(?:codebuild|ec2|glue|identitystore|lambda|ssm):/

const ROLE_PRINCIPAL = /^arn:(?:svc|aws):iam::\d{12}:role\/[\w+=,.@/-]+$/
const SESSION_PRINCIPAL = /^arn:(?:svc|aws):sts::\d{12}:(?:assumed-role\/[\w+=,.@-]+|federated-user)\/[\w+=,.@-]+$/
const PROVIDER = /^arn:(?:svc|aws):iam::\d{12}:(?:saml|oidc)-provider\/[\w+=,.@:/-]+$/
/** A web identity provider, by its host. */
const WEB_PROVIDER = /^(?:[a-z0-9-]+\.)+[a-z]{2,}$/
const SERVICE_PRINCIPAL = /^[a-z0-9][a-z0-9.-]*\.(?:amazonaws\.com(?:\.cn)?|aws\.internal|svc)$/

/** The members of a Principal that list accounts and users. */
export const PRINCIPAL_KEYS: readonly string[] = ['SVC', 'AWS']

/** The service principal that delivers access logs. */
export const LOGGING_SERVICES: readonly string[] = ['logging.svc', 'logging.s3.amazonaws.com']

const HEADER = 'x-svc'

/** A header name for fault details; the edge translates it into the dialect of the response. */
export const headerName = (neutral: string): string => `${HEADER}-${neutral}`

/** An action as a policy writes it, without its prefix; undefined when it belongs to no dialect. */
export function neutralAction(text: string): string | undefined {
  if (text === '*') return '*'
  const folded = foldCase(text)
  return ACTION_PREFIX.test(folded) ? folded.replace(ACTION_PREFIX, '') : undefined
}

/** The action's name in each dialect. */
export const actionNames = (action: string): readonly [string, string] => [`svc:${action}`, `s3:${action}`]

/** A resource pattern without its ARN prefix: `bucket` or `bucket/key`. */
export function neutralResource(text: string): string | undefined {
  if (text === '*') return '*'
  return RESOURCE_PREFIX.test(text) ? text.replace(RESOURCE_PREFIX, '') : undefined
}

export type PrincipalName =
  | { readonly kind: 'account'; readonly accountId: string }
  | { readonly kind: 'user'; readonly accountId: string; readonly name: string }
  | ForeignPrincipal

/** A valid principal that no caller of this server can be: a role, a session, another service. */
interface ForeignPrincipal {
  readonly kind: 'foreign'
  readonly name: string
}

export function readPrincipal(text: string): PrincipalName | undefined {
  if (/^\d{12}$/.test(text)) return { kind: 'account', accountId: text }
  const account = ACCOUNT_PRINCIPAL.exec(text)
  if (account !== null) return { kind: 'account', accountId: account[1]! }
  if (ROLE_PRINCIPAL.test(text) || SESSION_PRINCIPAL.test(text)) return { kind: 'foreign', name: neutralArn(text) }
  const user = USER_PRINCIPAL.exec(text)
  // Principals have no wildcards but the lone star, so a pattern would silently match nothing.
  if (user === null || /[*?]/.test(user[2]!)) return undefined
  return { kind: 'user', accountId: user[1]!, name: user[2]! }
}

export function readFederated(text: string): ForeignPrincipal | undefined {
  const isProvider = PROVIDER.test(text) || WEB_PROVIDER.test(text)
  return isProvider ? { kind: 'foreign', name: neutralArn(text) } : undefined
}

export function readService(
  text: string,
): ForeignPrincipal | { readonly kind: 'service'; readonly name: 'logging' } | undefined {
  if (LOGGING_SERVICES.includes(text)) return { kind: 'service', name: 'logging' }
  return SERVICE_PRINCIPAL.test(text) ? { kind: 'foreign', name: text } : undefined
}

export const accountArn = (accountId: string): string => `arn:svc:iam::${accountId}:root`
export const bucketArn = (bucket: string): string => `arn:svc:svc:::${bucket}`
export const userArn = (accountId: string, name: string): string => `arn:svc:iam::${accountId}:user/${name}`

/** ARNs are compared in one spelling. */
export const neutralArn = (text: string): string =>
  text.replace(/^arn:aws:s3:/, 'arn:svc:svc:').replace(/^arn:aws:/, 'arn:svc:')

/**
 * A condition key without its prefixes, in lower case. A tag name follows a slash and keeps its case. Undefined when
 * the text has no dialect's prefix.
 */
export function neutralKey(text: string): string | undefined {
  const slash = text.indexOf('/')
  const name = foldCase(slash < 0 ? text : text.slice(0, slash))
  if (CROSS_SERVICE_KEY.test(name)) return name
  if (!KEY_PREFIX.test(name)) return undefined
  const bare = name.replace(KEY_PREFIX, '').replace(HEADER_PREFIX, '')
  const key = bare.replace(/^(server-side-encryption)-(?:svc|aws)-(kms-key-id)$/, '$1-$2')
  return slash < 0 ? key : key + text.slice(slash)
}

const VALUE_SPELLINGS: ReadonlyMap<string, ReadonlyMap<string, string>> = new Map([
  ['acl', new Map([['aws-exec-read', 'svc-exec-read']])],
  ['signatureversion', new Map([['AWS4-HMAC-SHA256', 'SVC4-HMAC-SHA256']])],
  [
    'server-side-encryption',
    new Map([
      ['aws:kms', 'verenc'],
      ['aws:kms:dsse', 'verenc'],
      ['verenc+dsse', 'verenc'],
    ]),
  ],
])

/** A condition value in its neutral spelling, so that a policy applies to requests of both dialects. */
export function neutralConditionValue(key: string, value: string): string {
  if (key.endsWith('arn')) return neutralArn(value)
  if (key === 'copy-source') return value.replace(/^\//, '')
  if (key === 'principalservicename' && LOGGING_SERVICES.includes(value)) return LOGGING_SERVICES[0]!
  if (key.startsWith('grant-'))
    return Object.values(GROUP_URIS).reduce((text, uri) => text.replaceAll(uri.s3, uri.svc), value)
  return VALUE_SPELLINGS.get(key)?.get(value) ?? value
}

export type Group = 'AllUsers' | 'AuthenticatedUsers' | 'LogDelivery'

export const GROUP_URIS: Readonly<Record<Group, { readonly svc: string; readonly s3: string }>> = {
  AllUsers: {
    svc: 'http://acs.svc/groups/global/AllUsers',
    s3: 'http://acs.amazonaws.com/groups/global/AllUsers',
  },
  AuthenticatedUsers: {
    svc: 'http://acs.svc/groups/global/AuthenticatedUsers',
    s3: 'http://acs.amazonaws.com/groups/global/AuthenticatedUsers',
  },
  LogDelivery: {
    svc: 'http://acs.svc/groups/svc/LogDelivery',
    s3: 'http://acs.amazonaws.com/groups/s3/LogDelivery',
  },
}

const GROUPS: ReadonlyMap<string, Group> = new Map(
  Object.entries(GROUP_URIS).flatMap(([group, { svc, s3 }]) => [
    [svc, group as Group],
    [s3, group as Group],
  ]),
)

export const groupOf = (uri: string): Group | undefined => GROUPS.get(uri)

/** How a grantee is identified, by its `xsi:type`. */
export const GRANTEE_TYPES: ReadonlyMap<string, 'id' | 'uri' | 'email'> = new Map([
  ['CanonicalUser', 'id'],
  ['Group', 'uri'],
  ['SvcCustomerByEmail', 'email'],
  ['AmazonCustomerByEmail', 'email'],
])

/** The header value for the canned ACL `exec-read`; the edge translates other dialects' spelling into it. */
export const EXEC_READ_NAME = 'svc-exec-read'
