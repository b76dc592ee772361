/** The server that the browser works with, and what is in it. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { S3Client } from '../../src/s3/client.ts'
import { ROOT, type Serving, spawnServer } from '../cli/program.ts'

/** An account that is no administrator. */
export const OWNER = { accessKey: 'HFOWNEROFTESTS', secretKey: 'the-secret-of-the-owner' }
/** A user of it, who may list buckets and read one of them, and nothing else. */
export const READER = { accessKey: 'HFREADEROFTESTS', secretKey: 'the-secret-of-the-reader' }

const READER_POLICY = {
  Version: '2012-10-17',
  Statement: [
    { Effect: 'Allow', Action: ['s3:ListAllMyBuckets'], Resource: '*' },
    {
      Effect: 'Allow',
      Action: [
        's3:GetObject',
        's3:ListBucket',
        's3:GetBucketLocation',
        's3:GetBucketVersioning',
        's3:GetObjectTagging',
      ],
      Resource: ['arn:aws:s3:::papers', 'arn:aws:s3:::papers/*'],
    },
  ],
}

export interface World {
  readonly server: Serving & { readonly pid: number }
  /** Also the folder for files that tests make. */
  readonly folder: string
  client(bucket: string, key?: typeof ROOT): S3Client
  end(): Promise<void>
}

/** `prepare` may fill the data folder before the server opens it. */
export async function startWorld(
  flags: readonly string[] | ((folder: string) => readonly string[]) = [],
  prepare: (data: string) => Promise<void> = async () => {},
): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-console-'))
  const accounts = join(folder, 'accounts.json')
  const user = { name: 'reader', accessKeys: [READER], policies: [READER_POLICY] }
  const account = { accountId: '111111111111', accessKeys: [OWNER], users: [user] }
  writeFileSync(accounts, JSON.stringify({ accounts: [account] }))
  const data = join(folder, 'data')
  await prepare(data)
  const more = typeof flags === 'function' ? flags(folder) : flags
  const server = await spawnServer(['--data', data, '--workers', '2', '--accounts', accounts, ...more])
  return {
    server,
    folder,
    client: (bucket, key = ROOT) =>
      new S3Client({ endpoint: new URL(server.url), bucket, region: 'us-east-1', key, inFlight: 8 }),
    async end() {
      await server.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Many objects at once. */
export async function putMany(
  client: S3Client,
  keys: readonly string[],
  body = 'x',
  headers: readonly (readonly [string, string])[] = [],
): Promise<void> {
  const left = [...keys]
  const putNext = async (): Promise<void> => {
    for (let key = left.shift(); key !== undefined; key = left.shift()) {
      await client.requestOnce({ method: 'PUT', key, headers, body: Buffer.from(body) })
    }
  }
  await Promise.all(Array.from({ length: 16 }, putNext))
}
