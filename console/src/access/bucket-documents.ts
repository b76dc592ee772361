/** The policy, the public access block and the object ownership of a bucket, and what the caller may do with them. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { call } from '../api/client.ts'
import { ApiFailure } from '../api/failure.ts'
import { type Permission, permissionOf } from '../api/permissions.ts'
import { BUCKETS_KEY, type Bucket } from '../api/use-buckets.ts'
import { childrenOf, send, sendDocument, sendForXml, textIn } from '../objects/request.ts'

export const BLOCKS = ['BlockPublicAcls', 'IgnorePublicAcls', 'BlockPublicPolicy', 'RestrictPublicBuckets'] as const
export type Block = Readonly<Record<(typeof BLOCKS)[number], boolean>>

export const OWNERSHIPS = ['BucketOwnerEnforced', 'BucketOwnerPreferred', 'ObjectWriter'] as const
export type Ownership = (typeof OWNERSHIPS)[number]

/** The names that the object API gives them. */
export const ACCESS_ACTIONS = {
  readPolicy: 's3:GetBucketPolicy',
  writePolicy: 's3:PutBucketPolicy',
  deletePolicy: 's3:DeleteBucketPolicy',
  readAcl: 's3:GetBucketAcl',
  writeAcl: 's3:PutBucketAcl',
  readBlock: 's3:GetBucketPublicAccessBlock',
  writeBlock: 's3:PutBucketPublicAccessBlock',
  readOwnership: 's3:GetBucketOwnershipControls',
  writeOwnership: 's3:PutBucketOwnershipControls',
} as const

export type AccessPermissions = Readonly<Record<keyof typeof ACCESS_ACTIONS, Permission>>

/** Undefined until it is known: the browser reports a request that is refused as an error of the page. */
export function useAccessPermissions(bucket: string): AccessPermissions | undefined {
  const names = Object.keys(ACCESS_ACTIONS) as (keyof typeof ACCESS_ACTIONS)[]
  const questions = names.map(name => ({ action: ACCESS_ACTIONS[name], bucket }))
  const { data } = useQuery({
    queryKey: ['permissions', questions],
    queryFn: ({ signal }) => call('GetPermissions', { questions }, { signal }),
    staleTime: 60_000,
  })
  if (data === undefined) return undefined
  const permissions = data.answers.map(permissionOf)
  return Object.fromEntries(names.map((name, i) => [name, permissions[i]!])) as AccessPermissions
}

const requestOf = (method: 'GET' | 'PUT' | 'DELETE', bucket: string, resource: string) => ({
  method,
  bucket,
  query: { [resource]: '' },
})

/** A document that is not set is not asked for: the browser would report the answer as an error of the page. */
function useDocument<T>(
  bucket: Bucket,
  resource: string,
  read: ((name: string, signal: AbortSignal) => Promise<T>) | undefined,
) {
  const isSet = bucket.documents.includes(resource)
  return useQuery({
    queryKey: [...BUCKETS_KEY, 'access', bucket.name, resource, isSet],
    queryFn: ({ signal }) => (isSet ? read!(bucket.name, signal) : null),
    enabled: read !== undefined,
  })
}

const readPolicy = async (bucket: string, signal: AbortSignal): Promise<string> =>
  (await send(requestOf('GET', bucket, 'policy'), { signal })).text()

async function readBlock(bucket: string, signal: AbortSignal): Promise<Block> {
  const root = await sendForXml(requestOf('GET', bucket, 'publicAccessBlock'), { signal })
  return Object.fromEntries(BLOCKS.map(name => [name, textIn(root, name) === 'true'])) as Block
}

async function readOwnership(bucket: string, signal: AbortSignal): Promise<Ownership> {
  const root = await sendForXml(requestOf('GET', bucket, 'ownershipControls'), { signal })
  const [rule] = childrenOf(root, 'Rule')
  return ((rule && textIn(rule, 'ObjectOwnership')) ?? 'ObjectWriter') as Ownership
}

/** Whether ownership controls turn ACLs off in a bucket; false also where the caller may not read them. */
export async function areAclsOff(name: string, signal: AbortSignal): Promise<boolean> {
  try {
    const { buckets } = await call('ListBuckets', { name }, { signal })
    if (!buckets[0]?.documents.includes('ownershipControls')) return false
    return (await readOwnership(name, signal)) === 'BucketOwnerEnforced'
  } catch (error) {
    if (error instanceof ApiFailure && (error.status === 403 || error.status === 404)) return false
    throw error
  }
}

export const useBucketPolicy = (bucket: Bucket, mayRead: boolean) =>
  useDocument(bucket, 'policy', mayRead ? readPolicy : undefined)
export const useBlock = (bucket: Bucket, mayRead: boolean) =>
  useDocument(bucket, 'publicAccessBlock', mayRead ? readBlock : undefined)
export const useOwnership = (bucket: Bucket, mayRead: boolean) =>
  useDocument(bucket, 'ownershipControls', mayRead ? readOwnership : undefined)

export async function writePolicy(bucket: string, text: string): Promise<void> {
  await sendDocument(requestOf('PUT', bucket, 'policy'), text)
}

export async function deletePolicy(bucket: string): Promise<void> {
  await send(requestOf('DELETE', bucket, 'policy'))
}

export async function writeBlock(bucket: string, block: Block): Promise<void> {
  const flags = BLOCKS.map(name => `<${name}>${block[name]}</${name}>`).join('')
  const text = `<PublicAccessBlockConfiguration>${flags}</PublicAccessBlockConfiguration>`
  await sendDocument(requestOf('PUT', bucket, 'publicAccessBlock'), text)
}

export async function writeOwnership(bucket: string, ownership: Ownership): Promise<void> {
  const rule = `<Rule><ObjectOwnership>${ownership}</ObjectOwnership></Rule>`
  await sendDocument(requestOf('PUT', bucket, 'ownershipControls'), `<OwnershipControls>${rule}</OwnershipControls>`)
}

/** Everything about buckets is read again: one setting changes what others mean. */
export function useBucketsAgain(): () => Promise<void> {
  const queries = useQueryClient()
  return () => queries.invalidateQueries({ queryKey: BUCKETS_KEY })
}
