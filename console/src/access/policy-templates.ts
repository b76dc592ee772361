/** Starting points for policies. */
import type { policyTexts } from '../texts/policies.ts'

type TemplateName = keyof typeof policyTexts.templates

interface Template {
  readonly name: TemplateName
  /** A policy of a user has no principal. */
  readonly isFor: 'user' | 'bucket'
  readonly statements: (bucket: string) => readonly object[]
}

const arn = (resource: string): string => `arn:aws:s3:::${resource}`
const EVERYONE = { Principal: '*' }
const READ = ['s3:GetObject', 's3:GetObjectVersion', 's3:GetObjectTagging']
const WRITE = ['s3:PutObject', 's3:DeleteObject', 's3:AbortMultipartUpload']

const TEMPLATES: readonly Template[] = [
  {
    name: 'readOnly',
    isFor: 'user',
    statements: bucket => [
      { Sid: 'ListBuckets', Effect: 'Allow', Action: ['s3:ListAllMyBuckets', 's3:GetBucketLocation'], Resource: '*' },
      { Sid: 'List', Effect: 'Allow', Action: ['s3:ListBucket', 's3:ListBucketVersions'], Resource: arn(bucket) },
      { Sid: 'Read', Effect: 'Allow', Action: READ, Resource: arn(`${bucket}/*`) },
    ],
  },
  {
    name: 'readWritePrefix',
    isFor: 'user',
    statements: bucket => [
      {
        Sid: 'ListPrefix',
        Effect: 'Allow',
        Action: 's3:ListBucket',
        Resource: arn(bucket),
        Condition: { StringLike: { 's3:prefix': ['PREFIX/*'] } },
      },
      { Sid: 'ReadAndWrite', Effect: 'Allow', Action: [...READ, ...WRITE], Resource: arn(`${bucket}/PREFIX/*`) },
    ],
  },
  {
    name: 'everything',
    isFor: 'user',
    statements: () => [{ Sid: 'Everything', Effect: 'Allow', Action: 's3:*', Resource: '*' }],
  },
  {
    name: 'publicRead',
    isFor: 'bucket',
    statements: bucket => [
      { Sid: 'PublicRead', Effect: 'Allow', ...EVERYONE, Action: 's3:GetObject', Resource: arn(`${bucket}/*`) },
    ],
  },
  {
    name: 'shareAccount',
    isFor: 'bucket',
    statements: bucket => {
      const other = { Effect: 'Allow', Principal: { AWS: 'arn:aws:iam::111111111111:root' } }
      return [
        { Sid: 'List', ...other, Action: 's3:ListBucket', Resource: arn(bucket) },
        { Sid: 'Read', ...other, Action: READ, Resource: arn(`${bucket}/*`) },
      ]
    },
  },
  {
    name: 'denyWithoutTls',
    isFor: 'bucket',
    statements: bucket => [
      {
        Sid: 'OnlyWithTls',
        Effect: 'Deny',
        ...EVERYONE,
        Action: 's3:*',
        Resource: [arn(bucket), arn(`${bucket}/*`)],
        Condition: { Bool: { 'aws:SecureTransport': 'false' } },
      },
    ],
  },
]

export const policyText = (statements: readonly object[]): string =>
  JSON.stringify({ Version: '2012-10-17', Statement: statements }, null, 2)

/** The policy of a bucket, or without one of a user. */
export function templatesFor(bucket: string | undefined): { name: TemplateName; text: string }[] {
  const kind = bucket === undefined ? 'user' : 'bucket'
  return TEMPLATES.filter(({ isFor }) => isFor === kind).map(({ name, statements }) => ({
    name,
    text: policyText(statements(bucket ?? 'BUCKET')),
  }))
}
