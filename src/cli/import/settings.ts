/** The documents of a bucket, carried over at the end: until then, none of them must act on what comes in. */
import { documentOf, SourceRefused } from './answer.ts'
import { contentMd5, NONE, type SourceVersioning, setVersioning } from './buckets.ts'
import type { S3Client } from './client.ts'
import { grantHeaders, readAccessList } from './grants.ts'
import type { Report } from './report.ts'

/** What takes rights away comes behind what it might forbid to set. */
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

/** A policy names the bucket that it stands on. */
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
      if (!(error instanceof SourceRefused)) throw error
      report.settings.push({ name, done: false, why: `${error.message} (${error.code})` })
    }
  }
  await attempt('acl', () => carryList(between))
  for (const name of DOCUMENTS) {
    await attempt(name, async () => {
      const answer = await source.maybe({ method: 'GET', query: { [name]: '' } }, ...NONE)
      if (answer === undefined) return false
      const isPolicy = name === 'policy'
      const body = isPolicy ? renamed(answer.body, source.place.bucket, target.place.bucket) : answer.body
      await target.ask({ method: 'PUT', query: { [name]: '' }, headers: [contentMd5(body)], body })
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
  const { body } = await source.ask({ method: 'GET', query: { acl: '' } })
  if (newOwner === undefined) return false
  const headers = grantHeaders(readAccessList(documentOf(body)), newOwner, () => false)
  if (headers.length === 0) return false
  await target.ask({ method: 'PUT', query: { acl: '' }, headers })
  return true
}
