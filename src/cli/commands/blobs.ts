/** Commands about the place where blobs are stored. */
import { systemClock } from '../../lib/clock.ts'
import { runUntilIdle } from '../../maintenance/maintenance-step.ts'
import { BlobMover } from '../../maintenance/move-blobs.ts'
import { FolderInUse } from '../../store/commit/folder-ownership.ts'
import { type Command, type CommandResult, type Invocation, onServer } from '../command.ts'
import { openStoreOf } from '../connect.ts'
import { CommandFailed } from '../failures.ts'
import type { TableRow } from './requests.ts'

const POLL_MS = 500

const progressText = ({ blobs, bytes, damaged, from, to }: TableRow): string =>
  `${blobs} blobs of ${bytes} bytes copied from ${from} to ${to}, ${damaged} damaged`

function result(move: TableRow): CommandResult {
  if (move.state === 'moved') {
    const advice = `start the server without --blobs-from, then ${move.from} can be deleted`
    return { value: move, text: `${progressText(move)}; complete: ${advice}` }
  }
  const text = `${progressText(move)}; damaged blobs stay where they are: holdfast scrub names their objects`
  return { value: move, text, code: 1 }
}

/** Without a server this process moves the blobs itself. False when a server uses the store. */
async function moveAlone(call: Invocation): Promise<boolean> {
  if (call.flag('endpoint') !== undefined || call.flag('cluster') !== undefined) return false
  const parts = await openStoreOf(call).catch((error: unknown) => {
    if (error instanceof FolderInUse) return undefined
    throw error
  })
  if (parts === undefined) return false
  try {
    const { context } = parts.store
    const { moving } = context.blobs
    if (moving !== undefined) await runUntilIdle(new BlobMover(context, moving), Number.POSITIVE_INFINITY)
    return true
  } finally {
    await parts.close()
  }
}

async function move(call: Invocation): Promise<CommandResult> {
  if (!call.has('status')) await moveAlone(call)
  const admin = await call.admin()
  for (;;) {
    const found = await admin.ask('GetBlobsMove')
    if (found.state === 'never') {
      throw new CommandFailed('no blobs are being moved: start the server with --blobs NEW --blobs-from OLD')
    }
    if (call.has('status')) return { value: found, text: `${found.state}: ${progressText(found)}` }
    if (found.state === 'moved' || Number(found.damaged) > 0) return result(found)
    call.progress(progressText(found))
    await systemClock.sleep(POLL_MS)
  }
}

const moveCommand = onServer({
  name: 'blobs move',
  summary: 'wait until all blobs are in the place that --blobs names; without a server, move them',
  examples: ['blobs move', 'blobs move --status', 'blobs move --blobs rados://POOL --blobs-from ./data/blobs'],
  flags: [{ name: 'status', meaning: 'print the progress and return' }],
  run: move,
})

export const blobsCommands: readonly Command[] = [moveCommand]
