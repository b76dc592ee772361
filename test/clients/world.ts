/** The environment of every round: the server, its credentials, and a large file to store. */
import { createCipheriv, createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, open, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Served } from './holdfast.ts'

export const BASE_HOST = 'hf.example'
export const REGION = 'us-east-1'
export const KEYS = { accessKey: 'HFCLIENTSROOT', secretKey: 'secret-of-the-clients-round' }

export interface Big {
  readonly path: string
  readonly bytes: number
  readonly sha256: string
}

export interface World {
  /** The folder of the scripts' sources. */
  readonly scripts: string
  /** The Bun executable, which has its own S3 client. */
  readonly bun: string | undefined
  /** Removed at the end. */
  readonly folder: string
  readonly plain: Served
  /** Configured with a data folder only, and reachable from other networks. */
  readonly defaults: Served
  /** Undefined where no certificate could be made. */
  readonly secure: Served | undefined
  readonly big: Big
}

/** Environment variables for installers only; clients must not see them. */
export const FOR_INSTALLING = Object.fromEntries(
  Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined),
)

const NAMES_PASSED_ON = ['PATH', 'LANG', 'TMPDIR', 'LD_LIBRARY_PATH']

/** A separate home and our keys: none of the user's settings, proxies or credentials. */
export function clientEnvironment(world: World, more: Readonly<Record<string, string>> = {}): Record<string, string> {
  const passedOn = NAMES_PASSED_ON.flatMap(name =>
    process.env[name] === undefined ? [] : [[name, process.env[name]!]],
  )
  return {
    ...Object.fromEntries(passedOn),
    LC_ALL: 'C.UTF-8',
    HOME: join(world.folder, 'home'),
    AWS_ACCESS_KEY_ID: KEYS.accessKey,
    AWS_SECRET_ACCESS_KEY: KEYS.secretKey,
    AWS_DEFAULT_REGION: REGION,
    AWS_REGION: REGION,
    AWS_EC2_METADATA_DISABLED: 'true',
    ...more,
  }
}

const PIECE_BYTES = 2 ** 20

/** Bytes that do not compress and are the same in every run. */
export async function makeBig(path: string, bytes: number): Promise<Big> {
  const source = createCipheriv('aes-128-ctr', Buffer.alloc(16, 7), Buffer.alloc(16))
  const hash = createHash('sha256')
  const file = await open(path, 'w')
  for (let done = 0; done < bytes; done += PIECE_BYTES) {
    const piece = source.update(Buffer.alloc(Math.min(PIECE_BYTES, bytes - done)))
    hash.update(piece)
    await file.write(piece)
  }
  await file.close()
  return { path, bytes, sha256: hash.digest('hex') }
}

export async function hashOf(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path)) hash.update(chunk)
  return hash.digest('hex')
}

/** A folder of small files and the large one: names that need encoding, an empty file, two levels. */
export async function makeTree(folder: string, big: Big): Promise<readonly string[]> {
  const files: readonly (readonly [string, Buffer])[] = [
    ['one.txt', Buffer.from('first\n')],
    ['empty.bin', Buffer.alloc(0)],
    ['with space & plus+.txt', Buffer.from('second\n')],
    ['umlaut-äöü.txt', Buffer.from('third\n')],
    ['inner/two.txt', Buffer.from('fourth\n')],
    ['inner/deep/three.bin', Buffer.alloc(70_000, 'x')],
  ]
  await mkdir(join(folder, 'inner', 'deep'), { recursive: true })
  for (const [name, bytes] of files) await writeFile(join(folder, name), bytes)
  await writeFile(join(folder, 'large.bin'), createReadStream(big.path))
  return [...files.map(([name]) => name), 'large.bin'].sort()
}
