/** Recovers damaged or lost metadata. */
import { rebuildFolder } from '../../server/rebuild.ts'
import { type Command, type CommandResult, type Invocation, onFolder } from '../command.ts'
import { dataFolder } from '../connect.ts'
import { BadUsage } from '../failures.ts'
import { escapeControls } from '../output.ts'

async function rebuild(call: Invocation): Promise<CommandResult> {
  if (call.flag('meta') !== undefined) {
    throw new BadUsage('only metadata in the data folder has a second copy; restore a database from its own backups')
  }
  const folder = dataFolder(call)
  const [blobsPlace, blobsFrom] = [call.flag('blobs'), call.flag('blobs-from')]
  const value = await rebuildFolder({
    folder,
    ...(blobsPlace === undefined ? {} : { blobsPlace }),
    ...(blobsFrom === undefined ? {} : { blobsFrom }),
    progress: line => call.progress(line),
  })
  const { records, objects, held, problems, shortcomings, kept } = value
  const text = [
    ...shortcomings,
    ...problems.map(escapeControls),
    `${records} records: ${objects} versions, ${held.length} of them held; ${problems.length} problems`,
    kept === undefined ? 'there was no file before' : `what was there before is ${kept}`,
  ]
  const isWhole = problems.length === 0 && shortcomings.length === 0
  return { value, text: text.join('\n'), code: isWhole ? 0 : 1 }
}

export const rebuildCommand: Command = onFolder({
  name: 'rebuild',
  summary: 'rebuild damaged or lost metadata from its second copy; exits 1 if anything is missing',
  examples: ['rebuild --data ./data'],
  run: rebuild,
})
