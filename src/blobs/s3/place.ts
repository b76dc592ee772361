/** The address of blobs in another S3 store: `s3://BUCKET/PREFIX?endpoint=URL&region=NAME`. */
export interface S3Place {
  readonly bucket: string
  /** Empty, or with a slash at its end. */
  readonly prefix: string
  readonly endpoint: URL
  readonly region: string
  readonly virtualHost: boolean
  /** A file with the CA certificate of the endpoint. */
  readonly caFile: string | undefined
}

const OPTIONS = ['endpoint', 'region', 'style', 'ca']
const BUCKET = /^[A-Za-z0-9][\w.-]{1,61}[A-Za-z0-9]$/
const PREFIX = /^([\w.-]+\/)*$/
const WITHOUT_KEYS =
  'must not contain access keys: set HOLDFAST_BLOBS_ACCESS_KEY and HOLDFAST_BLOBS_SECRET_KEY in the environment'

/** Throws an error that says what is wrong. No message repeats a part that may be secret. */
export function parseS3Place(address: URL): S3Place {
  const { searchParams: given } = address
  if (address.username !== '' || address.password !== '') throw new Error(`an s3:// address ${WITHOUT_KEYS}`)
  for (const name of given.keys()) {
    if (/key|secret|token|password|credential/i.test(name)) throw new Error(`an s3:// address ${WITHOUT_KEYS}`)
    if (!OPTIONS.includes(name)) throw new Error(`an s3:// address has no option ${name}: it has ${OPTIONS.join(', ')}`)
    if (given.getAll(name).length > 1) throw new Error(`an s3:// address has the option ${name} twice`)
  }
  const style = given.get('style') ?? 'path'
  if (style !== 'path' && style !== 'virtual')
    throw new Error('the option style of an s3:// address is path or virtual')
  return {
    bucket: bucketOf(address),
    prefix: prefixOf(address),
    endpoint: endpointOf(given.get('endpoint')),
    region: given.get('region') ?? 'us-east-1',
    virtualHost: style === 'virtual',
    caFile: given.get('ca') ?? undefined,
  }
}

function bucketOf({ hostname, port }: URL): string {
  if (BUCKET.test(hostname) && port === '') return hostname
  throw new Error('an s3:// address begins with the name of a bucket: s3://BUCKET/PREFIX?endpoint=URL')
}

function prefixOf({ pathname, hash }: URL): string {
  const path = pathname.replace(/^\//, '')
  const prefix = path === '' || path.endsWith('/') ? path : `${path}/`
  if (PREFIX.test(prefix) && hash === '' && !/(^|\/)\.\.?\//.test(prefix)) return prefix
  throw new Error('the prefix of an s3:// address has letters, digits, dots, hyphens, underscores and single slashes')
}

function endpointOf(text: string | null): URL {
  const help = 'an s3:// address needs the endpoint of the other store: ?endpoint=http://HOST:PORT or https://HOST'
  if (text === null || !URL.canParse(text)) throw new Error(help)
  const endpoint = new URL(text)
  if (endpoint.username !== '' || endpoint.password !== '') throw new Error(`the endpoint ${WITHOUT_KEYS}`)
  const isPlain = endpoint.search === '' && endpoint.hash === ''
  if (!isPlain || (endpoint.protocol !== 'http:' && endpoint.protocol !== 'https:')) throw new Error(help)
  return endpoint
}
