/** rclone: `sync`, and `check` by checksum in both directions. */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { run } from './command.ts'
import { fromApt } from './install.ts'
import { expect, plainServer, type Round } from './round.ts'
import { clientEnvironment, hashOf, KEYS, makeTree, type World } from './world.ts'

const BUCKET = 'rclone-round'

type Rclone = (...args: string[]) => Promise<string>

function rcloneOf(world: World, program: string): Rclone {
  const env = clientEnvironment(world, {
    RCLONE_CONFIG_HF_TYPE: 's3',
    RCLONE_CONFIG_HF_PROVIDER: 'Other',
    RCLONE_CONFIG_HF_ENDPOINT: world.plain.url,
    RCLONE_CONFIG_HF_ACCESS_KEY_ID: KEYS.accessKey,
    RCLONE_CONFIG_HF_SECRET_ACCESS_KEY: KEYS.secretKey,
    RCLONE_CONFIG_HF_REGION: 'us-east-1',
    RCLONE_CONFIG_HF_FORCE_PATH_STYLE: 'true',
    RCLONE_CONFIG_HF_CHUNK_SIZE: '8M',
    RCLONE_CONFIG_HF_UPLOAD_CUTOFF: '16M',
    RCLONE_RETRIES: '1',
    RCLONE_LOW_LEVEL_RETRIES: '1',
  })
  return (...args) => run(program, args, { env })
}

async function synchronise(rclone: Rclone, world: World): Promise<void> {
  const there = join(world.folder, 'rclone-there')
  const back = join(world.folder, 'rclone-back')
  const remote = `HF:${BUCKET}/tree`
  const names = await makeTree(there, world.big)
  await rclone('sync', there, remote)
  await rclone('check', '--checksum', there, remote)
  await rclone('check', '--download', there, remote)
  await rclone('sync', remote, back)
  for (const name of names) {
    expect((await hashOf(join(back, name))) === (await hashOf(join(there, name))), `${name} came back as it was`)
  }
  await rm(join(there, 'one.txt'))
  await rclone('sync', '--checksum', there, remote)
  await rclone('check', '--checksum', there, remote)
  const listed = (await rclone('lsf', '--recursive', '--files-only', remote)).trim().split('\n').sort()
  expect(listed.length === names.length - 1 && !listed.includes('one.txt'), `one file less, not ${listed}`)
  // A server-side copy, the large object by parts.
  await rclone('copy', remote, `HF:${BUCKET}/copy`)
  await rclone('check', '--checksum', remote, `HF:${BUCKET}/copy`)
  await rclone('moveto', `HF:${BUCKET}/copy/large.bin`, `HF:${BUCKET}/moved.bin`)
  expect((await rclone('lsf', '--dirs-only', `HF:${BUCKET}`)).trim() === 'copy/\ntree/', 'two folders')
  for (const folder of [there, back]) await rm(folder, { recursive: true })
}

async function streamed(rclone: Rclone, world: World): Promise<void> {
  const url = (await rclone('link', '--expire', '1m', `HF:${BUCKET}/moved.bin`)).trim()
  const bytes = Buffer.from(await (await fetch(url)).arrayBuffer())
  expect(bytes.length === world.big.bytes, `${world.big.bytes} bytes by a presigned address, not ${bytes.length}`)
  const two = await rclone('cat', `HF:${BUCKET}/tree/inner/two.txt`)
  expect(two === 'fourth\n', `the text, not ${two}`)
  await rclone('cleanup', `HF:${BUCKET}`)
}

export const rclone: Round = {
  name: 'rclone',
  server: plainServer,
  async prepare(world) {
    const command = rcloneOf(world, await fromApt(world.folder, 'rclone'))
    const version = /v\S+/.exec(await command('version'))?.[0] ?? ''
    return {
      version,
      async play() {
        await command('mkdir', `HF:${BUCKET}`)
        expect((await command('lsd', 'HF:')).includes(BUCKET), 'the new bucket in the list')
        await synchronise(command, world)
        await streamed(command, world)
        await command('purge', `HF:${BUCKET}`)
        expect(!(await command('lsd', 'HF:')).includes(BUCKET), 'the bucket gone')
      },
    }
  },
}
