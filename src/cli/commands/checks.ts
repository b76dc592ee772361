import { systemClock } from '../../lib/clock.ts'
import { type FsckReport, fsck, fsckDeep } from '../../maintenance/fsck.ts'
import type { ServerParts } from '../../server/compose.ts'
import { compareWithCopy } from '../../server/second-copy.ts'
import { FolderInUse } from '../../store/commit/folder-ownership.ts'
import { recount } from '../../store/usage/recount.ts'
import { type Command, type CommandResult, type Invocation, onFolder, onServer } from '../command.ts'
import { openStoreOf } from '../connect.ts'
import { BadUsage, CommandFailed } from '../failures.ts'
import { escapeControls } from '../output.ts'

const POLL_MS = 500

interface Damage {
  readonly what: string
  readonly id: string
  readonly message: string
  readonly objects: readonly { readonly bucket: string; readonly key: string; readonly versionId: string }[]
}

function damageText({ what, id, message, objects }: Damage): string {
  const affected = objects.map(({ bucket, key, versionId }) => `${bucket}/${key}@${versionId}`)
  return escapeControls(`${what} ${id}: ${message}; affects ${affected.join(', ') || 'no object'}`)
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

/** A running server checks a snapshot; without one, the command needs exclusive use of the folder. */
const check = (call: Invocation): Promise<CommandResult> =>
  call.flag('endpoint') === undefined ? checkFolder(call) : checkServer(call)

async function checkServer(call: Invocation): Promise<CommandResult> {
  if (call.has('repair')) throw new BadUsage('--repair needs the data folder itself: stop the server first')
  const admin = await call.admin()
  const deep = call.has('deep')
  let state = await admin.ask('StartFsck', { deep })
  if (state.deep !== deep) throw new CommandFailed(`a check ${deep ? 'without' : 'with'} --deep is running already`)
  while (state.state === 'running') {
    call.progress(`${state.records} records, ${state.bytes} bytes read, ${foundBy(state)} problems`)
    await systemClock.sleep(POLL_MS)
    state = await admin.ask('GetFsck')
  }
  if (state.state === 'stopped') throw new CommandFailed('the check was stopped')
  if (state.state !== 'done') throw new CommandFailed(`the check broke off: ${String(state.error)}`)
  const problems = (state.problems as string[]).map(escapeControls)
  const summary = `${state.versions} versions, ${state.blobs} blobs, ${state.bytes} bytes read`
  const shown = [...problems, ...(state.damage as Damage[]).map(damageText)]
  const text = [...shown, `${summary}; ${foundBy(state)} problems`].join('\n')
  return { value: state, text, code: foundBy(state) === 0 ? 0 : 1 }
}

const foundBy = ({ problemCount, damageCount }: Record<string, unknown>): number =>
  Number(problemCount) + Number(damageCount)

async function checkFolder(call: Invocation): Promise<CommandResult> {
  const parts = await openStoreOf(call).catch((error: unknown) => {
    if (!(error instanceof FolderInUse)) throw error
    throw new CommandFailed(`${error.message}: stop it first, or check it through its console with --endpoint URL`)
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
  summary: 'check the invariants and counters of a store; exits 1 if anything is wrong',
  examples: ['fsck --data ./data', 'fsck --deep', 'fsck --repair', 'fsck --deep --endpoint http://127.0.0.1:9001'],
  flags: [
    // Not from the environment: a command on a folder must not turn into one on a server.
    { name: 'endpoint', value: 'URL', meaning: "a server's console: it checks itself while it serves" },
    { name: 'region', value: 'NAME', meaning: "the server's region (us-east-1)", fromEnvironment: true },
    { name: 'ca', value: 'FILE', meaning: "CA certificate that signed the console's", fromEnvironment: true },
    { name: 'deep', meaning: 'also read every stored byte' },
    { name: 'repair', meaning: 'correct the usage counters of buckets; nothing else is changed' },
  ],
  run: check,
})

export const checkCommands: readonly Command[] = [scrubCommand, fsckCommand]
