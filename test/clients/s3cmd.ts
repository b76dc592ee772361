/** s3cmd: an older client with its own habits (Content-MD5, XML with namespaces, ACLs, `sync` by MD5). */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { run } from './command.ts'
import { fromPip, pipVersion } from './install.ts'
import { expect, plainServer, type Round } from './round.ts'
import { clientEnvironment, hashOf, KEYS, makeTree, type World } from './world.ts'

const BUCKET = 's3cmd-round'

type S3cmd = (...args: string[]) => Promise<string>

function s3cmdOf(world: World, bin: string): S3cmd {
  const host = new URL(world.plain.url).host
  const where = ['--no-ssl', `--host=${host}`, `--host-bucket=${host}`, '--region=us-east-1', '--no-progress']
  const who = [`--access_key=${KEYS.accessKey}`, `--secret_key=${KEYS.secretKey}`, '--max-retries=1', '-c', '/dev/null']
  const env = clientEnvironment(world)
  return (...args) => run(join(bin, 'python'), [join(bin, 's3cmd'), ...where, ...who, ...args], { env })
}

async function synchronise(s3cmd: S3cmd, world: World): Promise<void> {
  const there = join(world.folder, 's3cmd-there')
  const back = join(world.folder, 's3cmd-back')
  const names = await makeTree(there, world.big)
  await s3cmd('sync', `${there}/`, `s3://${BUCKET}/tree/`)
  const again = await s3cmd('sync', '--dry-run', `${there}/`, `s3://${BUCKET}/tree/`)
  expect(!again.includes('upload:'), `nothing to do for a second sync, not: ${again}`)
  await s3cmd('sync', `s3://${BUCKET}/tree/`, `${back}/`)
  for (const name of names) {
    expect((await hashOf(join(back, name))) === (await hashOf(join(there, name))), `${name} came back as it was`)
  }
  await rm(join(there, 'one.txt'))
  await s3cmd('sync', '--delete-removed', `${there}/`, `s3://${BUCKET}/tree/`)
  expect(!(await s3cmd('ls', `s3://${BUCKET}/tree/`)).includes('one.txt'), 'a removed file is gone there')
  for (const folder of [there, back]) await rm(folder, { recursive: true })
}

async function objects(s3cmd: S3cmd, world: World): Promise<void> {
  const at = (name: string): string => `s3://${BUCKET}/${name}`
  await s3cmd('put', world.big.path, at('big.bin'), '--multipart-chunk-size-mb=8')
  const back = join(world.folder, 's3cmd-big')
  await s3cmd('get', '--force', at('big.bin'), back)
  expect((await hashOf(back)) === world.big.sha256, 'the large object came back as it was')
  await rm(back)
  await s3cmd('cp', at('tree/inner/two.txt'), at('copy.txt'))
  await s3cmd('mv', at('copy.txt'), at('moved.txt'))
  await s3cmd('modify', '--add-header=Content-Language:de', at('moved.txt'))
  await s3cmd('setacl', '--acl-public', at('moved.txt'))
  const open = await fetch(`${world.plain.url}/${BUCKET}/moved.txt`)
  expect((await open.text()) === 'fourth\n', 'a public object for everybody')
  await s3cmd('setacl', '--acl-private', at('moved.txt'))
  expect((await fetch(`${world.plain.url}/${BUCKET}/moved.txt`)).status === 403, 'a private object for nobody')
  await s3cmd('settagging', at('moved.txt'), 'stage=test')
  expect((await s3cmd('gettagging', at('moved.txt'))).includes('stage'), 'the tag')
  expect((await s3cmd('info', at('moved.txt'))).includes('MD5'), 'what is known about an object')
  const listed = await s3cmd('ls', `s3://${BUCKET}`)
  expect(/DIR\s+s3:\/\/s3cmd-round\/tree\//.test(listed), `a prefix in the list, not ${listed}`)
  expect((await s3cmd('multipart', `s3://${BUCKET}`)).includes(BUCKET), 'the list of uploads')
  const url = (await s3cmd('signurl', at('moved.txt'), '+60')).trim()
  // It presigns with Signature Version 2 only.
  expect((await (await fetch(url)).text()) === 'fourth\n', `what ${url} gives`)
}

export const s3cmd: Round = {
  name: 's3cmd',
  server: plainServer,
  async prepare(world) {
    const bin = await fromPip(world.folder, 's3cmd')
    const command = s3cmdOf(world, bin)
    return {
      version: await pipVersion(bin, 's3cmd'),
      async play() {
        await command('mb', `s3://${BUCKET}`)
        expect((await command('ls')).includes(BUCKET), 'the new bucket in the list')
        await command('info', `s3://${BUCKET}`)
        await synchronise(command, world)
        await objects(command, world)
        await command('del', '--recursive', '--force', `s3://${BUCKET}`)
        await command('rb', `s3://${BUCKET}`)
      },
    }
  },
}
