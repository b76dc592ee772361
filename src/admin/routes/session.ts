/** Routes of the console's sessions: who is signed in, what they may do, and requests presigned for them. */

import { presign } from '../../auth/sign-request.ts'
import { SCHEMES } from '../../auth/signing.ts'
import { canBeHeader, headerWire } from '../../http/raw-request.ts'
import { percentEncoded } from '../../lib/percent-encoding.ts'
import { Fault } from '../../model/faults.ts'
import { isBucketName } from '../../rules/naming.ts'
import {
  body,
  booleanField,
  enumField,
  type InputOf,
  listField,
  optionalField,
  positiveInteger,
  type Schema,
  textField,
  textMap,
} from '../input.ts'
import { explainTo } from '../permitted.ts'
import { type AdminContext, route } from '../route.ts'
import { EXPLANATION, listOf, objectOf, TEXT, TIME, YES_OR_NO } from '../schemas.ts'

const PRESIGNED_MAX = 1000
const QUESTIONS_MAX = 100
const SECONDS_DEFAULT = 900
/** As long as a signature is valid at most. */
const SECONDS_MAX = 604_800

const iso = (ms: number): string => new Date(ms).toISOString()

const SESSION: Readonly<Record<string, Schema>> = {
  accessKey: TEXT,
  account: objectOf({ accountId: TEXT, displayName: TEXT }),
  'user?': { ...TEXT, description: 'Absent for a key of the account itself' },
  'person?': {
    ...objectOf({ issuer: TEXT, subject: TEXT }),
    description: 'The person signed in with OpenID Connect: the issuer and the claim sub',
  },
  administrator: YES_OR_NO,
  startedAt: TIME,
  idleEndsAt: { ...TIME, description: 'The session ends then unless it is used before' },
  endsAt: { ...TIME, description: 'The session ends then at the latest' },
  objectUrl: { ...TEXT, description: 'Where the browser reaches the object API' },
  websiteHosts: { ...listOf(TEXT), description: 'Buckets answer as websites at BUCKET.HOST of each' },
  region: TEXT,
  version: TEXT,
}

export const SIGNED_IN: Schema = objectOf({ token: TEXT, ...SESSION })

/** The session as its holder sees it. */
export async function sessionShown(ctx: AdminContext) {
  const { session, caller, objectUrl, region, isAdministrator } = ctx
  if (session === undefined) throw new Fault('Unauthenticated')
  const { accountId, displayName } = caller.account
  return {
    accessKey: caller.accessKey,
    account: { accountId, displayName },
    user: caller.user?.name,
    person: session.person,
    administrator: isAdministrator,
    startedAt: iso(session.startedAt),
    idleEndsAt: iso(session.idleEndsAt),
    endsAt: iso(session.endsAt),
    objectUrl,
    websiteHosts: ctx.inspection?.websiteHosts ?? [],
    region,
    version: (await ctx.facts()).version,
  }
}

/** The server runs these itself, since they have no caller. */
export async function onlyOverHttp(): Promise<never> {
  throw new Fault('InvalidRequest', { reason: 'Sessions exist only on the port of the console.' })
}

export const SignIn = route({
  name: 'SignIn',
  method: 'POST',
  path: '/v1/session',
  summary: 'Begin a session: sets its cookie and returns its token',
  permission: 'sign-in',
  status: 201,
  answer: SIGNED_IN,
  input: { accessKey: body(textField, 'The access key'), secretKey: body(textField, 'Its secret key') },
  run: onlyOverHttp,
})

export const SignOut = route({
  name: 'SignOut',
  method: 'DELETE',
  path: '/v1/session',
  summary: 'End the session',
  permission: 'sign-in',
  status: 204,
  input: {},
  run: onlyOverHttp,
})

export const GetSession = route({
  name: 'GetSession',
  method: 'GET',
  path: '/v1/session',
  summary: 'Get the identity and the end of the session',
  permission: 'signed-in',
  answer: objectOf(SESSION),
  input: {},
  run: sessionShown,
})

const PRESIGNED = {
  method: body(enumField('GET', 'HEAD', 'PUT', 'POST', 'DELETE'), 'Method of the request'),
  bucket: optionalField(textField, 'Absent for a request to the service'),
  key: optionalField(textField, 'Absent for a request to the bucket'),
  query: optionalField(textMap, 'Further parameters; sub-resources have an empty value'),
  headers: optionalField(textMap, 'Headers to sign: all that begin with x-amz-, others as wanted'),
  expiresInSeconds: optionalField(positiveInteger, `${SECONDS_DEFAULT} when absent, ${SECONDS_MAX} at most`),
}

/** JSON can express what no URL can. */
const LONE_SURROGATE = /\p{Surrogate}/u
const NO_UNICODE = 'it is not valid Unicode'

const invalid = (name: string, reason: string): Fault =>
  new Fault('InvalidArgument', { ArgumentName: name, reason: `${name}: ${reason}` })

/**
 * Browsers resolve the segments `.` and `..` also when they are percent-encoded, but not within a segment that has an
 * encoded slash.
 */
function keyPath(key: string): string {
  const segments = key.split('/')
  const hasDots = segments.some(segment => segment === '.' || segment === '..')
  if (LONE_SURROGATE.test(key)) throw invalid('key', NO_UNICODE)
  return segments.map(percentEncoded).join(hasDots ? '%2F' : '/')
}

function pathOf(bucket: string | undefined, key: string | undefined): string {
  if (bucket === undefined) {
    if (key !== undefined) throw invalid('key', 'a bucket is missing')
    return '/'
  }
  if (!isBucketName(bucket)) throw invalid('bucket', 'it is not a valid bucket name')
  return key === undefined ? `/${bucket}` : `/${bucket}/${keyPath(key)}`
}

function presigned(
  request: InputOf<typeof PRESIGNED>,
  by: { readonly origin: string; readonly key: Parameters<typeof presign>[2]['key']; readonly ctx: AdminContext },
) {
  const { method, bucket, key, query = {}, headers = {}, expiresInSeconds: seconds = SECONDS_DEFAULT } = request
  if (seconds > SECONDS_MAX) throw invalid('expiresInSeconds', `${SECONDS_MAX} at most`)
  const wrong = Object.entries(headers).find(([name, value]) => !canBeHeader(name, value) || /^host$/i.test(name))
  if (wrong !== undefined) throw invalid('headers', 'a name or value cannot be sent')
  if (
    Object.entries(query)
      .flat()
      .some(text => LONE_SURROGATE.test(text))
  )
    throw invalid('query', NO_UNICODE)
  if (Object.keys(query).some(name => /^x-(amz|svc)-(signature|credential|algorithm)$/i.test(name))) {
    throw invalid('query', 'the signature is added by the server')
  }
  // A browser sends one byte per character, so the page gets UTF-8 bytes as characters.
  const wire = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, headerWire(value)]))
  const whole = { method, origin: by.origin, path: pathOf(bucket, key), query, headers: wire }
  const { region, clock } = by.ctx
  const url = presign(SCHEMES.s3, whole, { key: by.key, region, now: clock.now(), seconds })
  return { method, url, headers: wire }
}

export const PresignRequests = route({
  name: 'PresignRequests',
  method: 'POST',
  path: '/v1/session/presign',
  summary: 'Presign requests to the object API in the name of the caller, who is authorized when they are sent',
  permission: 'signed-in',
  input: { requests: body(listField(PRESIGNED, PRESIGNED_MAX), 'The requests, in the dialect of S3') },
  answer: objectOf({ requests: listOf(objectOf({ method: TEXT, url: TEXT, headers: textMap.schema })) }),
  async run(ctx, { requests }) {
    const { objectUrl: origin } = ctx
    const key = await ctx.identities.findCredential(ctx.caller.accessKey)
    if (origin === undefined || key === undefined) throw new Fault('Unauthenticated')
    return { requests: requests.map(request => presigned(request, { origin, key, ctx })) }
  },
})

const QUESTION = {
  action: body(textField, 's3:GetObject, svc:GetObject or the bare name'),
  bucket: optionalField(textField, 'Bucket of the request'),
  key: optionalField(textField, 'Object key of the request'),
  versionId: optionalField(textField, 'Version of the request'),
  bypass: optionalField(booleanField, 'The request asks to bypass governance retention'),
}

export const GetPermissions = route({
  name: 'GetPermissions',
  method: 'POST',
  path: '/v1/session/permissions',
  summary: 'Evaluate for each request whether the caller may send it, and why',
  permission: 'signed-in',
  input: { questions: body(listField(QUESTION, QUESTIONS_MAX), 'What the caller would do') },
  answer: objectOf({ answers: listOf(EXPLANATION) }),
  async run(ctx, { questions }) {
    const answers: object[] = []
    for (const question of questions) answers.push(await explainTo(ctx, ctx.caller.accessKey, question))
    return { answers }
  },
})

export const GetOwnPolicies = route({
  name: 'GetOwnPolicies',
  method: 'GET',
  path: '/v1/session/policies',
  summary: 'Get the policies of the user who is signed in; none for a key of an account',
  permission: 'signed-in',
  input: {},
  answer: objectOf({ policies: listOf(objectOf({ name: TEXT, document: TEXT })) }),
  async run(ctx) {
    const { account, user } = ctx.caller
    if (user === undefined) return { policies: [] }
    const { policies } = await ctx.accounts.user(account.accountId, user.name)
    return { policies: policies.map(({ name, document }) => ({ name, document })) }
  },
})
