/** Clients that are libraries: a script in their own language runs the round. */
import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { run } from './command.ts'
import type { Served } from './holdfast.ts'
import { fromNpm, fromPip, type NpmPackage, npmVersion, pipVersion, Unavailable } from './install.ts'
import { plainServer, type Round } from './round.ts'
import { BASE_HOST, clientEnvironment, KEYS, type World } from './world.ts'

function secureServer({ secure }: World): Served {
  if (secure === undefined) throw new Unavailable('no certificate could be made for HTTPS')
  return secure
}

const scriptEnvironment = (world: World, server: Served, bucket: string): Record<string, string> =>
  clientEnvironment(world, {
    HF_URL: server.url,
    HF_AUTHORITY: server.authority,
    HF_BASE_HOST: BASE_HOST,
    HF_BUCKET: bucket,
    HF_FOLDER: world.folder,
    HF_BIG: world.big.path,
    HF_BIG_BYTES: String(world.big.bytes),
    HF_BIG_SHA256: world.big.sha256,
    HF_ACCESS_KEY: KEYS.accessKey,
    HF_SECRET_KEY: KEYS.secretKey,
  })

/** Installed once, by the first round that needs it. */
const installs = new Map<string, Promise<string>>()

function installedOnce(name: string, install: () => Promise<string>): Promise<string> {
  const known = installs.get(name) ?? install()
  installs.set(name, known)
  return known
}

const boto3 = (name: string, server: Round['server']): Round => ({
  name,
  server,
  async prepare(world) {
    const bin = await installedOnce('boto3', () => fromPip(world.folder, 'boto3'))
    const env = scriptEnvironment(world, server(world), `${name}-round`)
    const script = join(world.scripts, 'boto3_round.py')
    return {
      version: await pipVersion(bin, 'boto3'),
      play: async () => void (await run(join(bin, 'python'), [script], { env })),
    }
  },
})

interface JavaScript {
  readonly name: string
  readonly packages: readonly NpmPackage[]
  readonly script: string
  readonly server: Round['server']
}

const javaScript = ({ name, packages, script, server }: JavaScript): Round => ({
  name,
  server,
  async prepare(world) {
    const place = await installedOnce(script, () => fromNpm(world.folder, packages))
    // Packages are resolved relative to the script.
    const copy = join(place, script)
    await copyFile(join(world.scripts, script), copy)
    const env = scriptEnvironment(world, server(world), `${name}-round`)
    return {
      version: await npmVersion(place, packages[0]!),
      play: async () => void (await run(process.execPath, [copy], { env })),
    }
  },
})

const AWS_SDK = {
  packages: [
    '@aws-sdk/client-s3',
    '@aws-sdk/lib-storage',
    '@aws-sdk/s3-request-presigner',
    '@smithy/node-http-handler',
  ],
  script: 'aws-sdk-round.mjs',
} as const

export const SCRIPTED: readonly Round[] = [
  boto3('boto3', plainServer),
  boto3('boto3-https', secureServer),
  javaScript({ name: 'aws-sdk', server: plainServer, ...AWS_SDK }),
  javaScript({ name: 'aws-sdk-https', server: secureServer, ...AWS_SDK }),
  javaScript({ name: 'minio', server: plainServer, packages: ['minio'], script: 'minio-round.mjs' }),
]
