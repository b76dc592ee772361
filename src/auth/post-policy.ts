/**
 * G5. A POST form is authenticated by a signed policy, which says which forms it allows. The fields are passed in as
 * they will be used: those before the file, with the file's name already substituted in the key.
 */

import { Fault } from '../model/faults.ts'
import { checkScope } from './authenticate.ts'
import type { Authenticated, Authentication } from './authentication.ts'
import { callerOf, expectedCredential, findCredential, otherScheme, parseCredential } from './parsed-signature.ts'
import { evaluatePolicy, type FormFields, type LengthRange, parsePolicy } from './policy-document.ts'
import { authFault } from './refusal.ts'
import { isSignatureV2 } from './signature-v2.ts'
import { basicTimestamp, derivedKey, hmac, sameSignature } from './signing.ts'

export interface PostForm {
  /** The bucket of the request, whatever the form's fields say. */
  readonly bucket: string
  /** In the order sent. */
  readonly fields: readonly (readonly [string, string])[]
}

export interface AllowedPost extends Omit<Authenticated, 'payload'> {
  /** The permitted size of the file; undefined when the policy does not limit it. */
  readonly contentLength: LengthRange | undefined
}

export async function authenticatePost(form: PostForm, by: Authentication): Promise<AllowedPost> {
  const { scheme } = by
  const fields = uniqueFields(form)
  const how = signedHow(fields, by)
  if (how === 'not') {
    return {
      caller: { kind: 'anonymous' },
      contentLength: undefined,
      region: by.region,
      signatureVersion: undefined,
    }
  }
  const policy = take(fields, 'policy')
  const signed = how === 'version 2' ? await policySignerV2(policy, fields, by) : await policySigner(policy, fields, by)
  const unnamed = how === 'version 2' ? UNNAMED_V2 : [`${scheme.headerPrefix}signature`, 'policy', 'file']
  const isExempt = (name: string): boolean => unnamed.includes(name) || name.startsWith('x-ignore-')
  return { ...signed, contentLength: evaluatePolicy(parsePolicy(policy), { fields, isExempt }, by.now) }
}

/** Fields that a policy of Signature Version 2 need not cover. */
const UNNAMED_V2 = ['awsaccesskeyid', 'signature', 'policy', 'file']

type Signed = Omit<AllowedPost, 'contentLength'>

/** Fields by lower-case name, including the bucket. A duplicate field is ambiguous and refused. */
function uniqueFields(form: PostForm): FormFields {
  const fields = new Map<string, string>()
  for (const [sent, value] of form.fields) {
    const name = sent.toLowerCase()
    if (fields.has(name)) {
      throw new Fault('InvalidArgument', { ArgumentName: sent, reason: 'The form contains a field more than once.' })
    }
    fields.set(name, value)
  }
  const named = fields.get('bucket')
  if (named !== undefined && named !== form.bucket) {
    throw new Fault('AccessDenied', { reason: 'The bucket field does not match the bucket of the request.' })
  }
  return fields.set('bucket', form.bucket)
}

const SIGNATURE_FIELDS = ['algorithm', 'credential', 'date', 'signature'] as const

/** A form with any field of a signature must have all of them. */
function signedHow(fields: FormFields, { scheme, sigV2 = false }: Authentication): 'not' | 'version 2' | 'version 4' {
  if (SIGNATURE_FIELDS.some(word => fields.has(scheme.headerPrefix + word))) return 'version 4'
  if (fields.has('signature') || fields.has('awsaccesskeyid')) {
    if (sigV2 && scheme.name === 's3') return 'version 2'
    throw otherScheme(scheme)
  }
  return fields.has('policy') ? 'version 4' : 'not'
}

function take(fields: FormFields, name: string): string {
  const value = fields.get(name.toLowerCase())
  if (value !== undefined) return value
  throw new Fault('InvalidArgument', {
    ArgumentName: name,
    reason:
      `Bucket POST must contain a field named '${name}'.  ` +
      'If it is specified, please check the order of the fields.',
  })
}

async function policySigner(policy: string, fields: FormFields, by: Authentication): Promise<Signed> {
  const { scheme } = by
  const [algorithm, credentialText, date, signature] = SIGNATURE_FIELDS.map(word =>
    take(fields, scheme.headerPrefix + word),
  ) as [string, string, string, string]
  if (algorithm !== scheme.algorithm) throw otherScheme(scheme)
  const malformed = (reason: string, detail = {}): Fault =>
    authFault('AuthorizationQueryParametersError', { ...detail, reason })
  const scope = parseCredential(credentialText)
  if (scope === undefined) throw malformed(expectedCredential(scheme))
  const timestamp = basicTimestamp(date)
  if (timestamp === undefined) throw malformed(`${scheme.headerPrefix}date is not a valid date`)
  // The clock is not checked here: the policy's expiration limits how long a form is valid.
  const checked = checkScope({ scope, timestamp, malformed }, by)
  if (fields.has(`${scheme.headerPrefix}security-token`)) throw authFault('InvalidToken', {})
  const credential = await findCredential(scope.accessKey, by)
  // Forms are rare and may name any day, so their signing keys are not cached.
  if (!sameSignature(hmac(derivedKey(scheme, credential, checked), policy), signature)) {
    throw mismatch(scope.accessKey, policy, signature)
  }
  return { caller: callerOf(credential), region: checked.region, signatureVersion: 'SVC4-HMAC-SHA256' }
}

/** D31. The access key and the signature are in fields without a prefix, and there is no scope. */
async function policySignerV2(policy: string, fields: FormFields, by: Authentication): Promise<Signed> {
  const [accessKey, signature] = [take(fields, 'AWSAccessKeyId'), take(fields, 'signature')]
  if (fields.has(`${by.scheme.headerPrefix}security-token`)) throw authFault('InvalidToken', {})
  const credential = await findCredential(accessKey, by)
  if (!isSignatureV2(credential.secretKey, policy, signature)) throw mismatch(accessKey, policy, signature)
  return { caller: callerOf(credential), region: by.region, signatureVersion: 'AWS' }
}

const mismatch = (accessKey: string, policy: string, signature: string): Fault =>
  new Fault('SignatureDoesNotMatch', {
    SvcAccessKeyId: accessKey,
    StringToSign: policy,
    SignatureProvided: signature,
  })
