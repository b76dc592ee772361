/** The servers to import from, each with its features; those that cannot be installed here are `Unavailable`. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { spawnServer } from '../cli/program.ts'
import { onPath, Unavailable } from '../clients/install.ts'
import { startMoto } from './moto.ts'
import { type Running, startOnFreePort } from './other-server.ts'
import { SOURCE_KEY } from './round.ts'
import { EVERYTHING, STRANGE_NAMES, type Traits } from './seed.ts'

export interface Source {
  readonly name: string
  /** The maximum. */
  readonly objects: number
  readonly traits: Traits
  /** `program`: the path of an installed one. */
  start(folder: string, program: string | undefined): Promise<Running>
}

const MANY = 10_000

const SOURCE_ENV = {
  HOLDFAST_ROOT_ACCESS_KEY: SOURCE_KEY.accessKey,
  HOLDFAST_ROOT_SECRET_KEY: SOURCE_KEY.secretKey,
}

/** Too large to be built on demand: minutes, where everything else takes seconds. */
async function installed(program: string | undefined, name: string, module: string): Promise<string> {
  const found = program ?? (await onPath(name))
  if (found !== undefined) return found
  throw new Unavailable(`--${name} PROGRAM says where one is; go install ${module} makes one`)
}

const holdfast: Source = {
  name: 'holdfast',
  objects: MANY,
  traits: EVERYTHING,
  async start(folder) {
    const served = await spawnServer(['--data', join(folder, 'source'), '--durability', 'os'], SOURCE_ENV)
    return { ...served, version: '' }
  },
}

const moto: Source = {
  name: 'moto',
  // It copies its whole listing for every page: quadratic time.
  objects: 60,
  traits: {
    ...EVERYTHING,
    strangeKeys: [],
    holdsUploads: false,
    tellsParts: false,
    tellsOrder: false,
  },
  start: startMoto,
}

/** It has no object ACLs: it accepts them and returns others. */
const minio: Source = {
  name: 'minio',
  objects: MANY,
  traits: { ...EVERYTHING, strangeKeys: [...STRANGE_NAMES, 'trailing/'], storageClass: undefined, hasLists: false },
  async start(folder, program) {
    const env = { MINIO_ROOT_USER: SOURCE_KEY.accessKey, MINIO_ROOT_PASSWORD: SOURCE_KEY.secretKey }
    return startOnFreePort({
      program: await installed(program, 'minio', 'github.com/minio/minio@latest'),
      args: address => ['server', '--address', address, join(folder, 'source')],
      env: { ...env, MINIO_UPDATE: 'off', MINIO_BROWSER: 'off', HOME: folder },
    })
  },
}

/** Files in folders, with S3 attributes in extended attributes. */
const versitygw: Source = {
  name: 'versitygw',
  objects: MANY,
  traits: { ...EVERYTHING, strangeKeys: STRANGE_NAMES, hasLists: false, storageClass: undefined, tellsOrder: false },
  async start(folder, program) {
    const [objects, versions] = [join(folder, 'source'), join(folder, 'versions')]
    for (const place of [objects, versions]) await mkdir(place)
    return startOnFreePort({
      program: await installed(program, 'versitygw', 'github.com/versity/versitygw/cmd/versitygw@latest'),
      args: address => ['--port', address, '--keep-alive', '--quiet', 'posix', '--versioning-dir', versions, objects],
      env: { ROOT_ACCESS_KEY: SOURCE_KEY.accessKey, ROOT_SECRET_KEY: SOURCE_KEY.secretKey, HOME: folder },
    })
  },
}

export const SOURCES: readonly Source[] = [holdfast, moto, minio, versitygw]
