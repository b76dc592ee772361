/**
 * A second evaluator, written independently of the first and as simply as possible: it parses the policies' JSON for
 * every question, evaluates everything, and shares no code with the rules. Slow, and used only for comparison.
 */
import type { AccessRequest } from '../../src/rules/access/evaluate.ts'

type Loose = Record<string, unknown>
type Sign = { any: true } | { one: true } | { letter: string }
type Values = Map<string, string[]>

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : [value])
const textsOf = (value: unknown): string[] => listOf(value).map(String)

/** Every cell of the table: does the pattern from here on match the text from there on? */
export function naiveLike(signs: readonly Sign[], text: string): boolean {
  const letters = [...text]
  const table = signs.concat({ any: true }).map(() => new Array<boolean>(letters.length + 1).fill(false))
  for (let p = signs.length; p >= 0; p -= 1) {
    for (let t = letters.length; t >= 0; t -= 1) {
      const sign = signs[p]
      if (sign === undefined) table[p]![t] = t === letters.length
      else if ('any' in sign) table[p]![t] = table[p + 1]![t]! || (t < letters.length && table[p]![t + 1]!)
      else {
        const fits = t < letters.length && ('one' in sign || sign.letter === letters[t])
        table[p]![t] = fits && table[p + 1]![t + 1]!
      }
    }
  }
  return table[0]![0]!
}

export const plainSigns = (text: string): Sign[] => [...text].map(letter => ({ letter }))
export const wildSigns = (text: string): Sign[] =>
  [...text].map(letter => (letter === '*' ? { any: true } : letter === '?' ? { one: true } : { letter }))

/** Undefined when a variable in the text has no value. The generated texts have two variables and one escape. */
function signsOf(text: string, wild: boolean, values: Values): Sign[] | undefined {
  const signs: Sign[] = []
  for (const piece of text.split(/(\$\{[^}]*\})/)) {
    if (!piece.startsWith('${')) signs.push(...(wild ? wildSigns(piece) : plainSigns(piece)))
    else if (piece === `\${*}`) signs.push({ letter: '*' })
    else {
      const value = values.get(piece.toLowerCase().replace(/^\$\{(?:aws|svc|s3):(.*)\}$/, '$1'))
      if (value === undefined) return undefined
      signs.push(...plainSigns(value[0]!))
    }
  }
  return signs
}

function valuesOf({ caller, context, bucket, object }: AccessRequest): Values {
  const values: Values = new Map([...context].map(([key, list]) => [key, [...list]]))
  for (const key of ['username', 'principalarn', 'principalaccount', 'resourceaccount']) values.delete(key)
  values.set('principaltype', [{ anonymous: 'Anonymous', account: 'Account', user: 'User' }[caller.kind]])
  values.set('userid', ['anonymous'])
  values.set('viaawsservice', ['false'])
  if (caller.kind !== 'anonymous') {
    const id = caller.account.accountId
    values.set('principalaccount', [id])
    values.set('principalisawsservice', ['false'])
    values.set('userid', [caller.kind === 'user' ? `${id}:${caller.user.name}` : id])
    values.set('principalarn', [`arn:svc:iam::${id}:${caller.kind === 'user' ? `user/${caller.user.name}` : 'root'}`])
  }
  if (caller.kind === 'user') values.set('username', [caller.user.name])
  if (bucket !== undefined) values.set('resourceaccount', [bucket.ownerAccountId])
  for (const [name, value] of object?.tags ?? []) values.set(`existingobjecttag/${name}`, [value])
  return values
}

/** Whether one value of the request satisfies the positive form of an operator for one value of the policy. */
function compares(operator: string, actual: string, wanted: string, values: Values): boolean | undefined {
  if (/^String.*Like$/.test(operator)) {
    const signs = signsOf(wanted, true, values)
    return signs === undefined ? undefined : naiveLike(signs, actual)
  }
  if (/^String/.test(operator)) {
    const signs = signsOf(wanted, false, values)
    const text = signs?.map(sign => ('letter' in sign ? sign.letter : '')).join('')
    if (text === undefined) return undefined
    return operator.includes('IgnoreCase') ? text.toLowerCase() === actual.toLowerCase() : text === actual
  }
  if (/^Arn/.test(operator)) {
    const [mine, theirs] = [wanted.replace('arn:aws:', 'arn:svc:').split(':'), actual.split(':')]
    return mine.length === theirs.length && mine.every((field, n) => naiveLike(wildSigns(field), theirs[n]!))
  }
  if (operator === 'Bool') return actual.toLowerCase() === wanted.toLowerCase()
  if (operator.endsWith('IpAddress')) return inRange(actual, wanted)
  const scale = operator.startsWith('Date') ? Date.parse : Number
  const [left, right] = [scale(actual), scale(wanted)]
  if (operator.endsWith('LessThan')) return left < right
  if (operator.endsWith('LessThanEquals')) return left <= right
  if (operator.endsWith('GreaterThan')) return left > right
  if (operator.endsWith('GreaterThanEquals')) return left >= right
  return left === right
}

/** The generated ranges are IPv4 only, and contain no IPv6 address. */
function inRange(actual: string, wanted: string): boolean {
  if (actual.includes(':')) return false
  const bits = (text: string) => [...text.split('.')].map(n => Number(n).toString(2).padStart(8, '0')).join('')
  const [address, size] = wanted.split('/')
  return bits(actual).slice(0, Number(size)) === bits(address!).slice(0, Number(size))
}

function holds(written: string, key: string, wanted: string[], values: Values, isDeny: boolean): boolean {
  const ifExists = written.endsWith('IfExists')
  const quantifier = written.includes(':') ? written.split(':')[0] : undefined
  const operator = written.replace(/^.*:/, '').replace(/IfExists$/, '')
  const neutral = key.includes('ObjectTag/')
    ? `existingobjecttag/${key.split('/')[1]}`
    : key
        .toLowerCase()
        .replace(/^(aws|s3|svc):/, '')
        .replace(/^x-(amz|svc)-/, '')
  const actual = values.get(neutral) ?? []
  if (operator === 'Null') return wanted.includes(String(actual.length === 0))
  const isNegated = operator.includes('Not')
  if (actual.length === 0) {
    if (ifExists || quantifier === 'ForAllValues') return true
    return quantifier === undefined ? isNegated : false
  }
  const table = actual.map(have => wanted.map(want => compares(operator, have, want, values)))
  if (isNegated && table.flat().includes(undefined)) return isDeny
  const matched = table.map(row => row.includes(true))
  if (quantifier === 'ForAllValues') return matched.every(hit => hit !== isNegated)
  if (quantifier === 'ForAnyValue') return matched.some(hit => hit !== isNegated)
  return isNegated ? !matched.includes(true) : matched.includes(true)
}

/** `self`: names the caller; `account`: names only its account. */
function namesCaller(names: unknown, { caller }: AccessRequest): 'self' | 'account' | 'no' {
  if (names === '*') return 'self'
  let found: 'self' | 'account' | 'no' = 'no'
  for (const [family, list] of Object.entries(names as Loose)) {
    for (const name of textsOf(list)) {
      if (name === '*') return 'self'
      if (caller.kind === 'anonymous') continue
      const { accountId, canonicalId } = caller.account
      const arn = name.replace('arn:aws:', 'arn:svc:')
      const isAccount =
        family === 'CanonicalUser'
          ? name === canonicalId
          : name === accountId || arn === `arn:svc:iam::${accountId}:root`
      if (isAccount && caller.kind === 'account') return 'self'
      if (isAccount) found = 'account'
      if (caller.kind === 'user' && arn === `arn:svc:iam::${accountId}:user/${caller.user.name}`) return 'self'
    }
  }
  return found
}

function applies(statement: Loose, request: AccessRequest, hasIdentityAllow: boolean, isIdentity: boolean): boolean {
  const isDeny = statement.Effect === 'Deny'
  const values = valuesOf(request)
  if (!isIdentity) {
    if ('Principal' in statement) {
      const named = namesCaller(statement.Principal, request)
      if (named === 'no' || (named === 'account' && !isDeny && !hasIdentityAllow)) return false
    } else if (namesCaller(statement.NotPrincipal, request) !== 'no') return false
  }
  const actionHits = textsOf(statement.Action ?? statement.NotAction).map(text =>
    naiveLike(wildSigns(text.toLowerCase().replace(/^(svc|s3):/, '')), request.action.toLowerCase()),
  )
  if (actionHits.includes(true) !== 'Action' in statement) return false
  const { bucket, key } = request.resource
  const asked = bucket === undefined ? '*' : key === undefined ? bucket : `${bucket}/${key}`
  const resourceHits = textsOf(statement.Resource ?? statement.NotResource).map(text => {
    const signs = signsOf(text.replace(/^arn:(aws:s3|svc:svc):::/, ''), true, values)
    return signs === undefined ? undefined : naiveLike(signs, asked)
  })
  if ('NotResource' in statement && !isDeny && resourceHits.includes(undefined)) return false
  if (resourceHits.includes(true) !== 'Resource' in statement) return false
  for (const [operator, keys] of Object.entries((statement.Condition ?? {}) as Loose)) {
    for (const [name, wanted] of Object.entries(keys as Loose)) {
      if (!holds(operator, name, textsOf(wanted), values, isDeny)) return false
    }
  }
  return true
}

const statementsOf = (text: string | undefined): Loose[] =>
  text === undefined ? [] : (listOf((JSON.parse(text) as Loose).Statement) as Loose[])

const BY_LIST: readonly [where: 'bucket' | 'object', permission: string, actions: string][] = [
  ['bucket', 'READ', 'ListBucket ListBucketVersions ListBucketMultipartUploads'],
  ['bucket', 'WRITE', 'PutObject DeleteObject'],
  ['bucket', 'READ_ACP', 'GetBucketAcl'],
  ['bucket', 'WRITE_ACP', 'PutBucketAcl'],
  ['object', 'READ', 'GetObject GetObjectVersion GetObjectAttributes GetObjectVersionAttributes'],
  ['object', 'READ_ACP', 'GetObjectAcl GetObjectVersionAcl'],
  ['object', 'WRITE_ACP', 'PutObjectAcl PutObjectVersionAcl'],
]

const OF_THE_BUCKET_OWNER =
  /^(AbortMultipartUpload|BypassGovernanceRetention|DeleteObject(Version)?|ListMultipartUploadParts|PutObject)$/

function listAllows({ caller, action, bucket, object }: AccessRequest): boolean {
  for (const [where, permission, actions] of BY_LIST) {
    if (!actions.split(' ').includes(action)) continue
    const enforced = bucket!.ownership === 'BucketOwnerEnforced'
    const stored = where === 'bucket' ? bucket!.grants : (object?.grants ?? [])
    for (const grant of enforced ? [] : stored) {
      if (grant.permission !== permission && grant.permission !== 'FULL_CONTROL') continue
      if (grant.group && bucket!.publicAccessBlock.ignorePublicAcls) continue
      if (grant.group && grant.grantee === 'AllUsers') return true
      if (caller.kind === 'anonymous') continue
      if (grant.group && grant.grantee === 'AuthenticatedUsers') return true
      if (!grant.group && grant.grantee === caller.account.canonicalId) return true
    }
  }
  return false
}

function isPublic(statements: readonly Loose[]): boolean {
  return statements.some(({ Effect, Principal, Condition }) => {
    const names = Principal === '*' ? ['*'] : Object.values((Principal ?? {}) as Loose).flatMap(textsOf)
    if (Effect !== 'Allow' || !names.includes('*')) return false
    const narrowing = Object.entries((Condition ?? {}) as Loose).some(([operator, keys]) =>
      Object.entries(keys as Loose).some(([key, wanted]) => {
        if (/Not|IfExists|ForAll|Null/.test(operator)) return false
        if (/SourceIp$/.test(key)) return textsOf(wanted).every(range => Number(range.split('/')[1]) >= 8)
        if (!/(Principal(Arn|Account)|SourceVpce|DataAccessPointAccount)$/.test(key)) return false
        return textsOf(wanted).every(text => !/[*?$]/.test(text) || /StringEquals/.test(operator))
      }),
    )
    return !narrowing
  })
}

/** D29. Actions that configure a bucket, by name. */
const CONFIGURES = /^(Put|Delete)(Bucket|EncryptionConfiguration$|LifecycleConfiguration$)/
const OF_THE_POLICY = /^(Get|Put|Delete)BucketPolicy$/

export const referenceAllows = (request: AccessRequest): boolean => referenceStatus(request) === 200

/** D29. A caller outside the owner's account whom the policy would admit gets 405 for the policy itself. */
export function referenceStatus(request: AccessRequest): 200 | 403 | 405 {
  if (!wouldAllow(request)) return 403
  const { caller, action, bucket } = request
  const isInside = caller.kind !== 'anonymous' && caller.account.accountId === bucket?.ownerAccountId
  return OF_THE_POLICY.test(action) && !isInside ? 405 : 200
}

/** Whether a missing key is reported as such: the caller could list it by name, and nothing denies the request. */
export function referenceTellsAbsence(request: AccessRequest): boolean {
  const { caller, resource, bucket } = request
  const own = caller.kind === 'user' ? caller.user.policies.flatMap(statementsOf) : []
  const asked = { ...request, object: undefined }
  const isDenied = (statements: Loose[], isIdentity: boolean): boolean =>
    statements.some(s => s.Effect === 'Deny' && applies(s, asked, false, isIdentity))
  if (isDenied(own, true) || isDenied(statementsOf(bucket?.policy), false)) return false
  const context = new Map([...request.context].filter(([key]) => key !== 'prefix' && key !== 'max-keys'))
  context.set('prefix', [resource.key!])
  return referenceAllows({ ...asked, action: 'ListBucket', resource: { bucket: resource.bucket! }, context })
}

function wouldAllow(request: AccessRequest): boolean {
  const { caller, action, bucket, object } = request
  const own = caller.kind === 'user' ? caller.user.policies.flatMap(statementsOf) : []
  const bucketStatements = statementsOf(bucket?.policy)
  const said = (statements: Loose[], effect: string, asked: AccessRequest, isIdentity: boolean, allowed = false) =>
    statements.some(s => s.Effect === effect && applies(s, asked, allowed, isIdentity))
  const accountId = caller.kind === 'anonymous' ? undefined : caller.account.accountId
  const canonicalId = caller.kind === 'anonymous' ? undefined : caller.account.canonicalId
  const isPolicyKeeper = caller.kind === 'account' && accountId === bucket?.ownerAccountId && OF_THE_POLICY.test(action)
  if (said(own, 'Deny', request, true)) return false
  if (!isPolicyKeeper && said(bucketStatements, 'Deny', request, false)) return false
  const identityAllow = caller.kind === 'account' || said(own, 'Allow', request, true)
  if (bucket === undefined) return caller.kind !== 'anonymous' && identityAllow
  const bucketOwner = bucket.ownerCanonicalId
  const isByObject = object !== undefined && !OF_THE_BUCKET_OWNER.test(action) && request.resource.key !== undefined
  const owner = isByObject && bucket.ownership !== 'BucketOwnerEnforced' ? object.ownerCanonicalId : bucketOwner
  const isRestricted =
    bucket.publicAccessBlock.restrictPublicBuckets && accountId !== bucket.ownerAccountId && isPublic(bucketStatements)
  const isUnnamedChange = caller.kind === 'anonymous' && CONFIGURES.test(action) && !OF_THE_POLICY.test(action)
  const policyCounts = owner === bucketOwner && !isRestricted && !isUnnamedChange
  const policyAllow = policyCounts && said(bucketStatements, 'Allow', request, false, identityAllow)
  if (canonicalId !== undefined && canonicalId === owner) {
    if (!identityAllow && !policyAllow) return false
    if (!/^PutObject(Version)?Acl$/.test(action)) return true
    const put: AccessRequest = { ...request, action: 'PutObject' }
    if (said(own, 'Deny', put, true)) return false
    const mine = caller.kind === 'account' || said(own, 'Allow', put, true)
    const byOwn = caller.kind === 'account' || said(own, 'Allow', put, true)
    const theirs = said(bucketStatements, 'Allow', put, false, byOwn) && !said(bucketStatements, 'Deny', put, false)
    return mine || (theirs && !isRestricted)
  }
  // An anonymous writer has no identity to own anything by, so the ACL that lets it write decides.
  const listed: AccessRequest = request.ofNewObject ? { ...request, action: 'PutObject' } : request
  if (caller.kind === 'anonymous') return policyAllow || listAllows(listed)
  return identityAllow && (policyAllow || listAllows(listed))
}
