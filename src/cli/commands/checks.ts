import { systemClock } from '../../lib/clock.ts'
import { type FsckReport, fsck, fsckDeep } from '../../maintenance/fsck.ts'
import type { ServerParts } from '../../server/compose.ts'
import { compareWithCopy } from '../../server/second-copy.ts'
import { FolderInUse } from '../../store/commit/folder-ownership.ts'
import { recount } from '../../store/usage/recount.ts'
import { type Command, type CommandResult, type Invocation, onFolder, onServer } from '../command.ts'
import { openStoreOf } from '../connect.ts'
import { CommandFailed } from '../failures.ts'
import { escapeControls } from '../output.ts'

const POLL_MS = 500

interface Damage {
  readonly what: string
  readonly id: string
  readonly message: string
  readonly objects: readonly { readonly bucket: string; readonly key: string; readonly versionId: string }[]
}

function damageText({ what, id, message, objects }: Damage): string {
  const hurt = objects.map(({ bucket, key, versionId }) => `${bucket}/${key}@${versionId}`)
  return escapeControls(`${what} ${id}: ${message}; hurts ${hurt.join(', ') || 'no object'}`)
}

async function scrub(call: Invocation): Promise<CommandResult> {
  const admin = await call.admin()
  let state = await admin.ask('StartScrub')
  while (state.state === 'running') {
    call.progress(`${state.records} records, ${state.bytes} bytes read, ${state.damaged} damaged`)
    await systemClock.sleep(POLL_MS)
    state = await admin.ask('GetScrub')
  }
  if (state.state !== 'done') throw new CommandFailed(`the round broke off: ${String(state.error)}`)
  const damaged = state.damaged as number
  const summary = `${state.records} records, ${state.bytes} bytes read, ${damaged} damaged`
  const text = [...(state.damage as Damage[]).map(damageText), summary].join('\n')
  return { value: state, text, code: damaged === 0 ? 0 : 1 }
}

/** The counts hold only while nothing changes, so this needs exclusive use of the folder. */
async function check(call: Invocation): Promise<CommandResult> {
  const parts = await openStoreOf(call).catch((error: unknown) => {
    if (error instanceof FolderInUse) throw new CommandFailed(`${error.message}: stop it first, or use scrub`)
    throw error
  })
  try {
    const look = call.has('deep') ? fsckDeep : fsck
    const found = await look(parts.store.context)
    const repaired = call.has('repair') ? await repairUsage(parts, found) : []
    const counted = repaired.length === 0 ? found : await look(parts.store.context)
    const lost = parts.copy === undefined ? [] : await compareWithCopy(parts.copy)
    const value = { ...counted, problems: [...counted.problems, ...lost], repaired }
    const { problems, objects, blobs, contents, garbage } = value
    const summary = `${objects} versions, ${blobs} blobs, ${contents} contents, ${garbage} pieces of garbage`
    const mended = repaired.map(name => escapeControls(`usage of bucket ${name}: counted again`))
    const text = [...problems.map(escapeControls), ...mended, `${summary}; ${problems.length} problems`].join('\n')
    return { value, text, code: problems.length === 0 ? 0 : 1 }
  } finally {
    await parts.close()
  }
}

/** Recounts buckets whose usage is wrong or missing. */
async function repairUsage({ store, snapshot }: ServerParts, { usage }: FsckReport): Promise<string[]> {
  const repaired: string[] = []
  for (const name of [...usage.wrong, ...usage.uncounted]) {
    if (await recount(store.context, snapshot, name)) repaired.push(name)
  }
  return repaired
}

const scrubCommand = onServer({
  name: 'scrub',
  summary: 'read all stored data and verify its checksums; exits 1 if anything is damaged',
  run: scrub,
})

const fsckCommand = onFolder({
  name: 'fsck',
  summary: 'check the invariants and counters of a store that no server uses; exits 1 if anything is wrong',
  examples: ['fsck --data ./data', 'fsck --deep', 'fsck --repair'],
  flags: [
    { name: 'deep', meaning: 'also read every stored byte' },
    { name: 'repair', meaning: 'correct the usage counters of buckets; nothing else is changed' },
  ],
  run: check,
})

export const checkCommands: readonly Command[] = [scrubCommand, fsckCommand]
