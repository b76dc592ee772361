/** Offers what fits at the cursor in a policy: members, actions, condition keys, principals and resources. */
import type { Completion, CompletionContext, CompletionResult, CompletionSource } from '@codemirror/autocomplete'
import { syntaxTree } from '@codemirror/language'
import type { AdminApi } from '../api/admin-api.ts'

export type Vocabulary = AdminApi['GetPolicyVocabulary']['output']

export interface PolicyNames {
  /** The bucket of a bucket policy; undefined for the policy of a user. */
  readonly bucket: string | undefined
  readonly buckets: readonly string[]
  readonly principals: readonly { readonly arn: string; readonly label: string }[]
}

type Node = ReturnType<typeof syntaxTree>['topNode']

const TOP = ['Version', 'Id', 'Statement']
const STATEMENT = ['Sid', 'Effect', 'Action', 'NotAction', 'Resource', 'NotResource', 'Condition']
const OF_BUCKET = ['Principal', 'NotPrincipal']

/** The spelling that people know; other keys are those of requests to the object API. */
const SPELLED: Readonly<Record<string, string>> = {
  currenttime: 'aws:CurrentTime',
  epochtime: 'aws:EpochTime',
  principalaccount: 'aws:PrincipalAccount',
  principalarn: 'aws:PrincipalArn',
  principalisawsservice: 'aws:PrincipalIsAWSService',
  principaltype: 'aws:PrincipalType',
  referer: 'aws:Referer',
  requestedregion: 'aws:RequestedRegion',
  resourceaccount: 'aws:ResourceAccount',
  securetransport: 'aws:SecureTransport',
  sourceip: 'aws:SourceIp',
  tagkeys: 'aws:TagKeys',
  useragent: 'aws:UserAgent',
  userid: 'aws:userid',
  username: 'aws:username',
  viaawsservice: 'aws:ViaAWSService',
  authtype: 's3:authType',
  signatureversion: 's3:signatureversion',
  'requesttag/': 'aws:RequestTag/',
  'existingobjecttag/': 's3:ExistingObjectTag/',
  'requestobjecttag/': 's3:RequestObjectTag/',
}

/** Keys that are called after a header. */
const HEADERS: readonly RegExp[] = [
  /^(acl|content-sha256|copy-source|metadata-directive|storage-class|website-redirect-location)$/,
  /^(grant|server-side-encryption)(-|$)/,
]

const isHeader = (key: string): boolean => HEADERS.some(pattern => pattern.test(key))

export const spelledKey = (key: string): string => SPELLED[key] ?? `s3:${isHeader(key) ? 'x-amz-' : ''}${key}`

const nameOf = (property: Node, context: CompletionContext): string => {
  const name = property.getChild('PropertyName')
  return name === null ? '' : context.state.sliceDoc(name.from + 1, name.to - 1)
}

/** The names of the members around the cursor, the nearest first. */
function membersAround(node: Node, context: CompletionContext): string[] {
  const names: string[] = []
  for (let one: Node | null = node; one !== null; one = one.parent) {
    if (one.name === 'Property') names.push(nameOf(one, context))
  }
  return names
}

const plain = (labels: readonly string[]): Completion[] => labels.map(label => ({ label }))

/** Read aloud as a word of its own. */
const apart = (detail: string): string => ` ${detail}`

function resources({ bucket, buckets }: PolicyNames): Completion[] {
  const names = bucket === undefined ? buckets : [bucket]
  return plain(['*', ...names.flatMap(name => [`arn:aws:s3:::${name}`, `arn:aws:s3:::${name}/*`])])
}

function values(members: readonly string[], words: Vocabulary, names: PolicyNames): Completion[] {
  const [member = '', outer = ''] = members
  if (member === 'Action' || member === 'NotAction') {
    const all = { label: 's3:*' }
    return [all, ...words.actions.map(({ action, on }) => ({ label: action, detail: apart(on) }))]
  }
  if (member === 'Resource' || member === 'NotResource') return resources(names)
  if (member === 'Effect') return plain(['Allow', 'Deny'])
  if (member === 'Version') return plain(['2012-10-17'])
  if (member === 'Principal') return plain(['*'])
  if (outer !== 'Principal' && outer !== 'NotPrincipal') return []
  return [...plain(['*']), ...names.principals.map(({ arn, label }) => ({ label: arn, detail: apart(label) }))]
}

function members(around: readonly string[], words: Vocabulary, { bucket }: PolicyNames): Completion[] {
  const [first, second] = around
  if (first === undefined) return plain(TOP)
  if (first === 'Statement') return plain(bucket === undefined ? STATEMENT : [...OF_BUCKET, ...STATEMENT])
  if (first === 'Principal' || first === 'NotPrincipal') return plain(['AWS', 'CanonicalUser'])
  if (first === 'Condition') return plain(words.operators)
  if (second !== 'Condition') return []
  return plain([...words.conditionKeys, ...words.conditionTags].map(spelledKey))
}

export function policyCompletions(words: () => Vocabulary | undefined, names: () => PolicyNames): CompletionSource {
  return (context): CompletionResult | null => {
    const vocabulary = words()
    const node = syntaxTree(context.state).resolveInner(context.pos, -1)
    const isName = node.name === 'PropertyName'
    if (vocabulary === undefined || (!isName && node.name !== 'String') || node.from === context.pos) return null
    const around = membersAround(isName ? node.parent!.parent! : node, context)
    const options = isName ? members(around, vocabulary, names()) : values(around, vocabulary, names())
    // A text in an object that has no value yet may become the name of a member.
    const isAlone = node.parent?.name === 'Object' || node.parent?.type.isError === true
    const more = isAlone ? members(membersAround(node.parent!, context), vocabulary, names()) : []
    if (options.length + more.length === 0) return null
    return { from: node.from + 1, options: [...options, ...more], validFor: /^[^"]*$/ }
  }
}
