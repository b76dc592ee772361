/** restic: a backup that a third-party program must be able to check and restore. */
import { appendFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { run } from './command.ts'
import { fromApt } from './install.ts'
import { expect, plainServer, type Round } from './round.ts'
import { clientEnvironment, hashOf, makeTree, type World } from './world.ts'

const BUCKET = 'restic-round'

type Restic = (...args: string[]) => Promise<string>

function resticOf(world: World, program: string): Restic {
  const env = clientEnvironment(world, {
    RESTIC_REPOSITORY: `s3:${world.plain.url}/${BUCKET}/backup`,
    RESTIC_PASSWORD: 'a password for the round',
    RESTIC_CACHE_DIR: join(world.folder, 'restic-cache'),
  })
  return (...args) => run(program, args, { env })
}

async function backUpAndRestore(restic: Restic, world: World): Promise<void> {
  const source = join(world.folder, 'restic-source')
  const back = join(world.folder, 'restic-back')
  const names = await makeTree(source, world.big)
  await restic('init')
  await restic('backup', source)
  await appendFile(join(source, 'one.txt'), 'and more\n')
  await restic('backup', source)
  const snapshots = JSON.parse(await restic('snapshots', '--json')) as unknown[]
  expect(snapshots.length === 2, `two snapshots, not ${snapshots.length}`)
  await restic('check', '--read-data')
  await restic('restore', 'latest', '--target', back)
  for (const name of names) {
    expect((await hashOf(join(back, source, name))) === (await hashOf(join(source, name))), `${name} as it was`)
  }
  await restic('forget', '--keep-last', '1', '--prune')
  await restic('check')
  for (const folder of [source, back]) await rm(folder, { recursive: true })
}

export const restic: Round = {
  name: 'restic',
  server: plainServer,
  async prepare(world) {
    const command = resticOf(world, await fromApt(world.folder, 'restic'))
    const version = /\d\S+/.exec(await command('version'))?.[0] ?? ''
    return { version, play: () => backUpAndRestore(command, world) }
  },
}
