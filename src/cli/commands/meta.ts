/** Commands about the engine that stores the metadata. */
import { openMeta } from '../../server/compose.ts'
import { moveMeta, printableMetaUrl } from '../../server/move-meta.ts'
import { FolderInUse } from '../../store/commit/folder-ownership.ts'
import { type Command, type CommandResult, command, type Invocation } from '../command.ts'
import { dataFolder } from '../connect.ts'
import { BadUsage, CommandFailed } from '../failures.ts'

async function move(call: Invocation): Promise<CommandResult> {
  const folder = dataFolder(call)
  const metaUrl = call.flag('to')
  if (metaUrl === undefined) throw new BadUsage('--to is missing: the postgres:// address of the new database')
  const target = {
    name: printableMetaUrl(metaUrl),
    open: () => openMeta({ folder, metaUrl, onWait: line => call.progress(line) }),
  }
  const options = { folder, target, isFinal: call.has('finish'), progress: (line: string) => call.progress(line) }
  const value = await moveMeta(options).catch((error: unknown) => {
    if (error instanceof FolderInUse) throw new CommandFailed(`${error.message}: stop it before --finish`)
    throw error
  })
  const counts = `${value.records} records, ${value.written} written, ${value.removed} removed`
  const next =
    value.state === 'moved'
      ? `nothing differs: start the server with --meta ${value.to}`
      : 'stop the server and run the command again with --finish'
  return { value, text: `${value.state}: ${counts}; ${next}` }
}

const moveCommand = command({
  name: 'meta move',
  summary: 'copy the metadata of a data folder to a database, while a server uses it; --finish completes the move',
  examples: ['meta move --data ./data --to postgres://holdfast@db1,db2/holdfast', 'meta move --to URL --finish'],
  flags: [
    {
      name: 'to',
      value: 'URL',
      meaning: 'the empty database, or one that this command has filled',
      fromEnvironment: true,
    },
    {
      name: 'finish',
      meaning: 'the server is stopped: copy the rest, compare everything, and let the database be the store',
    },
    { name: 'data', value: 'DIR', meaning: 'data folder (./data)', fromEnvironment: true },
  ],
  run: move,
})

export const metaCommands: readonly Command[] = [moveCommand]
