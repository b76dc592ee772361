/** Forms as a browser posts them, authenticated by their signed policy. */
import { type Pair, policySignature, type Signer, scopeOf, stampOf } from './signing.ts'

export const BOUNDARY = '----specimen0123456789'
export const FORM_TYPE: Pair = ['Content-Type', `multipart/form-data; boundary=${BOUNDARY}`]

const part = (disposition: string, value: Buffer): Buffer =>
  Buffer.concat([
    Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n`, 'latin1'),
    value,
    Buffer.from('\r\n'),
  ])

export function formBody(fields: readonly Pair[], file: Buffer): Buffer {
  return Buffer.concat([
    ...fields.map(([name, value]) => part(`name="${name}"`, Buffer.from(value, 'latin1'))),
    part('name="file"; filename="a.txt"', file),
    Buffer.from(`--${BOUNDARY}--\r\n`),
  ])
}

export interface FormSigning {
  readonly bucket: string
  /** Wire names. */
  readonly fields: readonly Pair[]
  /** When the policy expires, in milliseconds since 1970. */
  readonly until: number
  /** In addition to one for each field. */
  readonly conditions?: readonly unknown[]
}

/** The fields with a policy that allows exactly them, and its signature. */
export function signedFields(signer: Signer, { bucket, fields, until, conditions = [] }: FormSigning): Pair[] {
  const x = signer.scheme.headerPrefix
  const all: Pair[] = [
    ...fields,
    [`${x}algorithm`, signer.scheme.algorithm],
    [`${x}credential`, `${signer.accessKey}/${scopeOf(signer)}`],
    [`${x}date`, stampOf(signer.now)],
  ]
  const exact = [['bucket', bucket] as Pair, ...all].map(([name, value]) => ({ [name]: value }))
  const document = { expiration: new Date(until).toISOString(), conditions: [...exact, ...conditions] }
  const policy = Buffer.from(JSON.stringify(document)).toString('base64')
  return [...all, ['policy', policy], [`${x}signature`, policySignature(signer, policy)]]
}
