/** Blobs in a bucket of another Holdfast, which runs inside the test. */
import type { Blobs } from '../../src/blobs/blobs.ts'
import { parseS3Place, type S3Place } from '../../src/blobs/s3/place.ts'
import { openS3Blobs, type S3BlobsOptions } from '../../src/blobs/s3/s3-blobs.ts'
import { Holdfast } from '../../src/embedded/holdfast.ts'
import { type ClientRequest, type ClientResponse, S3Client } from '../../src/s3/client.ts'
import { WRITER } from './fixture.ts'

export const BELOW_BUCKET = 'below'
export const BELOW_PREFIX = 'blobs/a/'

export interface StoreBelow {
  readonly hf: Holdfast
  readonly options: S3BlobsOptions
  readonly blobs: Blobs
  open(options?: Partial<S3BlobsOptions>): Blobs
  /** A request to the store below, past the driver. */
  direct(ask: ClientRequest): Promise<ClientResponse>
  /** Keys in the bucket below, without the prefix. */
  keys(): Promise<string[]>
}

export function placeOf(endpoint: string, prefix = BELOW_PREFIX): S3Place {
  return parseS3Place(new URL(`s3://${BELOW_BUCKET}/${prefix}?endpoint=${encodeURIComponent(endpoint)}`))
}

export async function withStoreBelow(
  use: (below: StoreBelow) => Promise<void>,
  options: Partial<S3BlobsOptions> = {},
): Promise<void> {
  const hf = await Holdfast.start({ buckets: [BELOW_BUCKET], log: () => {} })
  const { endpoint, credentials, region } = hf.s3ClientConfig()
  const key = { accessKey: credentials.accessKeyId, secretKey: credentials.secretAccessKey }
  const given: S3BlobsOptions = { place: placeOf(endpoint), key, writer: WRITER, ...options }
  const opened: Blobs[] = []
  const open = (more: Partial<S3BlobsOptions> = {}): Blobs => {
    const blobs = openS3Blobs({ ...given, ...more })
    opened.push(blobs)
    return blobs
  }
  const client = new S3Client({ endpoint: new URL(endpoint), bucket: BELOW_BUCKET, region, key, inFlight: 4 })
  const keys = async (): Promise<string[]> => {
    const { body } = await client.request({ method: 'GET', query: { 'list-type': 2, prefix: BELOW_PREFIX } })
    return [...body.toString().matchAll(/<Key>([^<]*)<\/Key>/g)].map(match => match[1]!.slice(BELOW_PREFIX.length))
  }
  try {
    await use({ hf, options: given, blobs: open(), open, direct: ask => client.requestOnce(ask), keys })
  } finally {
    for (const blobs of opened) await blobs.close()
    client.close()
    await hf.close()
  }
}

export async function collected<T>(all: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const one of all) list.push(one)
  return list
}
