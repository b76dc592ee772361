/** Predefined policies by name. They apply to the buckets of the user's own account. */

interface Canned {
  readonly meaning: string
  readonly actions: readonly string[]
}

const READING = ['Get*', 'List*']

/** Object data only: no locks, ACLs or buckets. */
const WRITING = [
  ...['PutObject', 'PutObjectTagging', 'PutObjectVersionTagging', 'AbortMultipartUpload'],
  ...['DeleteObject', 'DeleteObjectVersion', 'DeleteObjectTagging', 'DeleteObjectVersionTagging'],
]

export const CANNED_POLICIES: Readonly<Record<string, Canned>> = {
  'read-only': { meaning: 'read and list objects, versions and settings', actions: READING },
  'read-write': { meaning: 'read-only, and write, tag and delete objects', actions: [...READING, ...WRITING] },
  admin: { meaning: 'everything: buckets, policies, locks and objects', actions: ['*'] },
}

export const CANNED_NAMES: readonly string[] = Object.keys(CANNED_POLICIES)

/** The document of a canned policy, limited to `buckets` if given; undefined for an unknown name. */
export function cannedPolicy(name: string, buckets: readonly string[] = []): object | undefined {
  const canned = Object.hasOwn(CANNED_POLICIES, name) ? CANNED_POLICIES[name] : undefined
  if (canned === undefined) return undefined
  const Resource =
    buckets.length === 0 ? '*' : buckets.flatMap(bucket => [`arn:svc:svc:::${bucket}`, `arn:svc:svc:::${bucket}/*`])
  const Action = canned.actions.map(action => `svc:${action}`)
  return { Version: '2012-10-17', Statement: [{ Effect: 'Allow', Action, Resource }] }
}
