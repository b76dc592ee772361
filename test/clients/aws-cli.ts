/** The AWS command line: `s3 sync`, `s3 cp` and the operations behind `s3api`. */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { run } from './command.ts'
import { fromPip, pipVersion } from './install.ts'
import { expect, expectSame, plainServer, type Round } from './round.ts'
import { clientEnvironment, hashOf, makeTree, type World } from './world.ts'

const BUCKET = 'aws-cli-round'

type Aws = (...args: string[]) => Promise<string>

function awsOf(world: World, bin: string): Aws {
  const env = clientEnvironment(world, { AWS_PAGER: '', AWS_MAX_ATTEMPTS: '1' })
  const always = ['--endpoint-url', world.plain.url, '--output', 'json']
  return (...args) => run(join(bin, 'aws'), [...args, ...always], { env })
}

async function synchronise(aws: Aws, world: World): Promise<void> {
  const there = join(world.folder, 'aws-cli-there')
  const back = join(world.folder, 'aws-cli-back')
  const names = await makeTree(there, world.big)
  await aws('s3', 'sync', there, `s3://${BUCKET}/tree`)
  const again = await aws('s3', 'sync', there, `s3://${BUCKET}/tree`)
  expect(again.trim() === '', `nothing to do for a second sync, not: ${again}`)
  await aws('s3', 'sync', `s3://${BUCKET}/tree`, back)
  for (const name of names) {
    expect((await hashOf(join(back, name))) === (await hashOf(join(there, name))), `${name} came back as it was`)
  }
  await rm(join(there, 'one.txt'))
  await aws('s3', 'sync', '--delete', there, `s3://${BUCKET}/tree`)
  const listed = await aws('s3', 'ls', '--recursive', `s3://${BUCKET}/tree/`)
  expect(!listed.includes('one.txt') && listed.includes('inner/two.txt'), `a removed file is gone there: ${listed}`)
  for (const folder of [there, back]) await rm(folder, { recursive: true })
}

async function objects(aws: Aws, world: World): Promise<void> {
  const key = (name: string): string[] => ['--bucket', BUCKET, '--key', name]
  await aws('s3', 'cp', world.big.path, `s3://${BUCKET}/big.bin`)
  await aws('s3', 'cp', `s3://${BUCKET}/big.bin`, `s3://${BUCKET}/big-copy.bin`)
  const back = join(world.folder, 'aws-cli-big')
  await aws('s3', 'cp', `s3://${BUCKET}/big-copy.bin`, back)
  expect((await hashOf(back)) === world.big.sha256, 'the large object came back as it was')
  await rm(back)
  await aws('s3', 'mv', `s3://${BUCKET}/big-copy.bin`, `s3://${BUCKET}/moved.bin`)
  const head = JSON.parse(await aws('s3api', 'head-object', ...key('moved.bin'))) as { ContentLength: number }
  expect(head.ContentLength === world.big.bytes, `${world.big.bytes} bytes, not ${head.ContentLength}`)
  await aws('s3api', 'put-object-tagging', ...key('moved.bin'), '--tagging', 'TagSet=[{Key=stage,Value=test}]')
  const tags = JSON.parse(await aws('s3api', 'get-object-tagging', ...key('moved.bin'))) as { TagSet: unknown }
  expect(JSON.stringify(tags.TagSet) === '[{"Key":"stage","Value":"test"}]', `the tag, not ${JSON.stringify(tags)}`)
  const page = await aws('s3api', 'list-objects-v2', '--bucket', BUCKET, '--delimiter', '/', '--max-items', '10')
  const { Contents = [], CommonPrefixes = [] } = JSON.parse(page) as Record<string, { Key: string; Prefix: string }[]>
  expectSame(
    Contents.map(one => one.Key),
    ['big.bin', 'moved.bin'],
    'keys',
  )
  expectSame(
    CommonPrefixes.map(one => one.Prefix),
    ['tree/'],
    'prefixes',
  )
  const url = (await aws('s3', 'presign', `s3://${BUCKET}/tree/inner/two.txt`)).trim()
  expect((await (await fetch(url)).text()) === 'fourth\n', 'what a presigned address gives')
}

async function versions(aws: Aws, world: World): Promise<void> {
  const bucket = ['--bucket', BUCKET]
  await aws('s3api', 'put-bucket-versioning', ...bucket, '--versioning-configuration', 'Status=Enabled')
  await aws('s3api', 'put-object', ...bucket, '--key', 'big.bin', '--body', join(world.scripts, 'world.ts'))
  const text = await aws('s3api', 'list-object-versions', ...bucket, '--prefix', 'big.bin')
  const listed = JSON.parse(text) as { Versions: { Key: string; VersionId: string }[] }
  expect(listed.Versions.length === 2, `two versions, not ${text}`)
  // Without the newer version the older one is current again.
  for (const { Key, VersionId } of listed.Versions.slice(0, 1)) {
    await aws('s3api', 'delete-object', ...bucket, '--key', Key, '--version-id', VersionId)
  }
  await aws('s3api', 'put-bucket-versioning', ...bucket, '--versioning-configuration', 'Status=Suspended')
}

async function clear(aws: Aws): Promise<void> {
  await aws('s3', 'rm', '--recursive', `s3://${BUCKET}`)
  const text = await aws('s3api', 'list-object-versions', '--bucket', BUCKET)
  const { DeleteMarkers = [] } = JSON.parse(text || '{}') as { DeleteMarkers?: { Key: string; VersionId: string }[] }
  const Objects = DeleteMarkers.map(({ Key, VersionId }) => ({ Key, VersionId }))
  const request = JSON.stringify({ Objects, Quiet: true })
  if (Objects.length > 0) await aws('s3api', 'delete-objects', '--bucket', BUCKET, '--delete', request)
  await aws('s3', 'rb', `s3://${BUCKET}`)
}

export const awsCli: Round = {
  name: 'aws-cli',
  server: plainServer,
  async prepare(world) {
    const bin = await fromPip(world.folder, 'awscli')
    const aws = awsOf(world, bin)
    return {
      version: await pipVersion(bin, 'awscli'),
      async play() {
        await aws('s3', 'mb', `s3://${BUCKET}`)
        expect((await aws('s3', 'ls')).includes(BUCKET), 'the new bucket in the list')
        await synchronise(aws, world)
        await objects(aws, world)
        await versions(aws, world)
        await clear(aws)
      },
    }
  },
}
