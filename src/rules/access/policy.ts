/**
 * G8. Parses policy documents into statements with neutral names. Parsing is strict: anything that would be ignored or
 * is ambiguous is refused, since a statement that does not do what it says is a security hole.
 */
import { checkActionsFit, isAnyAction } from './action-patterns.ts'
import { type Condition, readCondition } from './conditions.ts'
import { MalformedPolicy, malformed, within } from './malformed.ts'
import {
  neutralAction,
  neutralResource,
  PRINCIPAL_KEYS,
  type PrincipalName,
  readFederated,
  readPrincipal,
  readService,
} from './names.ts'
import { type Json, type JsonObject, readJson } from './policy-json.ts'
import { readTemplate, type Template } from './template.ts'
import { compileText, matches, type Pattern } from './wildcard.ts'

export const POLICY_BYTES_MAX = 20_480

export type Principal =
  | { readonly kind: 'everyone' }
  | { readonly kind: 'canonical'; readonly canonicalId: string }
  /** The service that delivers access logs; never a caller. */
  | { readonly kind: 'service'; readonly name: 'logging' }
  | PrincipalName

/** A list, or everything but the list. */
export interface Choice<T> {
  readonly except: boolean
  readonly of: readonly T[]
}

export interface Statement {
  readonly sid: string | undefined
  readonly effect: 'Allow' | 'Deny'
  /** Undefined in an identity policy, which applies to its user. */
  readonly principals: Choice<Principal> | undefined
  /** Match case-folded neutral names. */
  readonly actions: Choice<Pattern>
  /** Match `bucket` and `bucket/key`. */
  readonly resources: Choice<Template>
  /** All of them must hold. */
  readonly conditions: readonly Condition[]
}

export interface Policy {
  readonly statements: readonly Statement[]
}

const TOP_MEMBERS = ['Version', 'Id', 'Statement']
const STATEMENT_MEMBERS = [
  'Sid',
  'Effect',
  'Principal',
  'NotPrincipal',
  'Action',
  'NotAction',
  'Resource',
  'NotResource',
  'Condition',
]
const VERSIONS = ['2008-10-17', '2012-10-17']
const CANONICAL_ID = /^[0-9a-f]{64}$/

/** A bucket policy names its principals, and only resources of that bucket. */
export function readBucketPolicy(text: string, bucket: string): Policy {
  return readPolicy(text, { namesPrincipals: true, bucket })
}

/** A stored bucket policy: its resources were checked against the bucket when it was set. */
export function readStoredBucketPolicy(text: string): Policy {
  return readPolicy(text, { namesPrincipals: true, bucket: undefined })
}

/** A user's policy applies to that user, and may name any bucket. */
export function readIdentityPolicy(text: string): Policy {
  return readPolicy(text, { namesPrincipals: false, bucket: undefined })
}

interface Kind {
  readonly namesPrincipals: boolean
  readonly bucket: string | undefined
}

interface Reading extends Kind {
  readonly variables: boolean
}

function readPolicy(text: string, kind: Kind): Policy {
  const { statements, reading } = statementsIn(text, kind)
  return { statements: statements.map((_, i) => statementAt(statements, i, reading)) }
}

function statementAt(statements: readonly Json[], index: number, reading: Reading): Statement {
  return within('Statement', () => within(index, () => readStatement(statements[index]!, reading)))
}

interface PolicyProblem {
  readonly message: string
  /** Names of members and indexes of items that lead to the part; a single item may omit its brackets. */
  readonly path: MalformedPolicy['path']
}

/** All that is wrong with a policy, at most one problem per statement: for editors, which show each at its place. */
export function policyProblems(text: string, bucket: string | undefined): PolicyProblem[] {
  const problems: PolicyProblem[] = []
  const collect = (read: () => void): void => {
    try {
      read()
    } catch (error) {
      if (!(error instanceof MalformedPolicy)) throw error
      problems.push({ message: String(error.detail.reason), path: error.path })
    }
  }
  collect(() => {
    const { statements, reading } = statementsIn(text, { namesPrincipals: bucket !== undefined, bucket })
    for (const index of statements.keys()) collect(() => statementAt(statements, index, reading))
  })
  return problems
}

function statementsIn(text: string, kind: Kind): { readonly statements: readonly Json[]; readonly reading: Reading } {
  const size = Buffer.byteLength(text)
  if (size > POLICY_BYTES_MAX) throw malformed(`Policy exceeds the maximum size of ${POLICY_BYTES_MAX} bytes: ${size}`)
  const top = members(readJson(text), TOP_MEMBERS, 'The policy')
  const version = within('Version', () => readVersion(top.get('Version') ?? VERSIONS[0]!))
  if (top.has('Id') && typeof top.get('Id') !== 'string') throw new MalformedPolicy('The Id must be a string', ['Id'])
  const statements = list(top.get('Statement'), 'Statement')
  return { statements, reading: { ...kind, variables: version === VERSIONS[1] } }
}

function readVersion(version: Json): string {
  if (typeof version === 'string' && VERSIONS.includes(version)) return version
  throw malformed('The policy must contain a valid version string')
}

function readStatement(json: Json, reading: Reading): Statement {
  const statement = members(json, STATEMENT_MEMBERS, 'A statement')
  const sid = statement.get('Sid')
  const effect = statement.get('Effect')
  if (sid !== undefined && typeof sid !== 'string') throw new MalformedPolicy('The Sid must be a string', ['Sid'])
  if (effect !== 'Allow' && effect !== 'Deny') {
    throw new MalformedPolicy(`Invalid effect: ${JSON.stringify(effect) ?? 'none'}`, ['Effect'])
  }
  const [actions, resources] = [one(statement, 'Action'), one(statement, 'Resource')]
  const { variables, bucket } = reading
  const read: Statement = {
    sid,
    effect,
    principals: readPrincipals(statement, effect, reading),
    actions: readChoice(actions, 'Action', readAction),
    resources: readChoice(resources, 'Resource', text => readResource(text, bucket, variables)),
    conditions: within('Condition', () => readConditions(statement.get('Condition'), variables)),
  }
  // Only new policies are checked: a stored one must stay readable, or it would deny everything.
  if (bucket !== undefined && !actions.except && !resources.except) {
    checkActionsFit(
      read.actions.of,
      strings(resources.json, 'Resource').map(text => neutralResource(text)!),
    )
  }
  return read
}

function readChoice<T>({ except, json }: OneOf, name: string, read: (text: string) => T): Choice<T> {
  return within(except ? `Not${name}` : name, () => ({
    except,
    of: strings(json, name).map((text, i) => within(i, () => read(text))),
  }))
}

function readPrincipals(statement: JsonObject, effect: Statement['effect'], { namesPrincipals }: Reading) {
  if (!namesPrincipals) {
    if (!statement.has('Principal') && !statement.has('NotPrincipal')) return undefined
    throw malformed('The policy of a user must not name a principal')
  }
  const found = one(statement, 'Principal')
  return within(found.except ? 'NotPrincipal' : 'Principal', () => readNames(found, effect))
}

function readNames({ except, json }: OneOf, effect: Statement['effect']): Choice<Principal> {
  // Such a statement would allow every caller that is not listed, including anonymous ones.
  if (except && effect === 'Allow') throw malformed('Allow with NotPrincipal is not allowed.')
  if (json === '*') return { except, of: [{ kind: 'everyone' } as const] }
  if (!(json instanceof Map)) throw malformed('Invalid principal in policy')
  const of: Principal[] = []
  for (const [family, names] of json as JsonObject) {
    of.push(...within(family, () => strings(names, 'Principal').map(name => principalOf(family, name))))
  }
  if (of.length === 0) throw malformed('Invalid principal in policy')
  return { except, of }
}

function principalOf(family: string, name: string): Principal {
  const principal = FAMILIES.get(family)?.(name)
  if (principal === undefined) throw malformed('Invalid principal in policy')
  return principal
}

type ReadName = (name: string) => Principal | undefined

const FAMILIES: ReadonlyMap<string, ReadName> = new Map<string, ReadName>([
  ['CanonicalUser', name => (CANONICAL_ID.test(name) ? { kind: 'canonical', canonicalId: name } : undefined)],
  ['Federated', readFederated],
  ['Service', readService],
  ...PRINCIPAL_KEYS.map((family): [string, ReadName] => [
    family,
    name => (name === '*' ? { kind: 'everyone' } : readPrincipal(name)),
  ]),
])

function readAction(text: string): Pattern {
  const name = neutralAction(text)
  const pattern = compileText(name ?? '')
  // A pattern that matches no action is a typing error, and a dangerous one in a Deny.
  if (!isAnyAction(pattern)) throw malformed(`Policy has invalid action: ${text}`)
  return pattern
}

function readResource(text: string, bucket: string | undefined, variables: boolean): Template {
  const name = neutralResource(text)
  if (name === undefined || name === '') throw malformed(`Policy has invalid resource: ${text}`)
  // The bucket's part ends at the first slash. It may have wildcards that match this bucket.
  const isOurs = bucket === undefined || matches(compileText(name.split('/')[0]!), bucket)
  if (!isOurs) throw malformed(`Policy has invalid resource: ${text}`)
  return readTemplate(name, { wildcards: true, variables })
}

function readConditions(json: Json | undefined, variables: boolean): Condition[] {
  if (json === undefined) return []
  const conditions: Condition[] = []
  for (const [operator, keys] of object(json, 'Condition')) {
    for (const [key, values] of object(keys, 'Condition')) {
      conditions.push(
        within(operator, () => within(key, () => readCondition(operator, key, conditionTexts(values, key), variables))),
      )
    }
  }
  return conditions
}

function conditionTexts(values: Json, key: string): string[] {
  return list(values, key).map(value => {
    if (value === null || typeof value === 'object') throw malformed(`Invalid condition value for ${key}`)
    return String(value)
  })
}

interface OneOf {
  readonly except: boolean
  readonly json: Json
}

/** Exactly one of a member and its `Not…` form must be present. */
function one(statement: JsonObject, name: string): OneOf {
  const [plain, opposite] = [statement.get(name), statement.get(`Not${name}`)]
  if (plain !== undefined && opposite !== undefined) throw malformed(`A statement has both ${name} and Not${name}`)
  const json = plain ?? opposite
  if (json === undefined) throw malformed(`Missing required field ${name}`)
  return { except: plain === undefined, json }
}

function object(json: Json, name: string): JsonObject {
  if (json instanceof Map) return json as JsonObject
  throw malformed(`${name} must be an object`)
}

function members(json: Json, known: readonly string[], name: string): JsonObject {
  const found = object(json, name)
  for (const member of found.keys()) {
    if (!known.includes(member)) throw new MalformedPolicy(`Unknown field ${member}`, [member])
  }
  return found
}

/** A single item may omit its brackets. */
function list(json: Json | undefined, name: string): readonly Json[] {
  const items = Array.isArray(json) ? json : json === undefined ? [] : [json as Json]
  if (items.length === 0) throw malformed(`Missing required field ${name}`)
  return items
}

function strings(json: Json, name: string): string[] {
  return list(json, name).map(item => {
    if (typeof item === 'string') return item
    throw malformed(`${name} must be a string or a list of strings`)
  })
}
