/** Copies the bucket's configuration last, so that it cannot affect versions while they are copied. */

import type { S3Client } from '../../s3/client.ts'
import { documentOf, RequestRefused } from '../../s3/responses.ts'
import { contentMd5, NONE, type SourceVersioning, setVersioning } from './buckets.ts'
import { grantHeaders, readAccessList } from './grants.ts'
import type { Report } from './report.ts'

/** Ordered so that a document that restricts access comes after those it could forbid. */
const DOCUMENTS = [
  'tagging',
  'cors',
  'website',
  'encryption',
  'lifecycle',
  'requestPayment',
  'policy',
  'ownershipControls',
  'publicAccessBlock',
  'object-lock',
]

/** A policy names its bucket, which may have another name at the target. */
export function renamed(policy: Buffer, from: string, to: string): Buffer {
  const text = policy
    .toString('utf8')
    .replaceAll(/(arn:[\w-]*:s3:::)([a-z0-9.-]+)/g, (whole, head: string, bucket) =>
      bucket === from ? head + to : whole,
    )
  return Buffer.from(text, 'utf8')
}

interface Between {
  readonly source: S3Client
  readonly target: S3Client
  readonly report: Report
  readonly versioning: SourceVersioning
  readonly newOwner: string | undefined
}

export async function carrySettings(between: Between): Promise<void> {
  const { source, target, report, versioning } = between
  const attempt = async (name: string, step: () => Promise<boolean>): Promise<void> => {
    try {
      if (await step()) report.settings.push({ name, done: true })
    } catch (error) {
      if (!(error instanceof RequestRefused)) throw error
      report.settings.push({ name, done: false, why: `${error.message} (${error.code})` })
    }
  }
  await attempt('acl', () => carryList(between))
  for (const name of DOCUMENTS) {
    await attempt(name, async () => {
      const response = await source.requestIfPresent({ method: 'GET', query: { [name]: '' } }, ...NONE)
      if (response === undefined) return false
      const isPolicy = name === 'policy'
      const body = isPolicy ? renamed(response.body, source.address.bucket, target.address.bucket) : response.body
      await target.request({ method: 'PUT', query: { [name]: '' }, headers: [contentMd5(body)], body })
      return true
    })
  }
  if (versioning === 'Suspended') {
    await attempt('versioning', async () => {
      await setVersioning(target, 'Suspended')
      return true
    })
  }
}

async function carryList({ source, target, newOwner }: Between): Promise<boolean> {
  const { body } = await source.request({ method: 'GET', query: { acl: '' } })
  if (newOwner === undefined) return false
  const headers = grantHeaders(readAccessList(documentOf(body)), newOwner, () => false)
  if (headers.length === 0) return false
  await target.request({ method: 'PUT', query: { acl: '' }, headers })
  return true
}
