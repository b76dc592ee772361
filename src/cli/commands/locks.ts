import { existsSync } from 'node:fs'
import { LedgerCheck, type LedgerExpectation, type LedgerVerdict } from '../../rules/ledger.ts'
import { type Command, type CommandResult, type Invocation, onServer } from '../command.ts'
import { BadUsage, CommandFailed } from '../failures.ts'
import { escapeControls, facts } from '../output.ts'
import { showAdminResult } from './requests.ts'

/** Splits `bucket/key` at the first slash; the key may contain more. */
function placeOf(on: string | undefined): { bucket?: string | undefined; key?: string | undefined } {
  if (on === undefined) return {}
  const slash = on.indexOf('/')
  return slash < 0 ? { bucket: on } : { bucket: on.slice(0, slash), key: on.slice(slash + 1) || undefined }
}

const explain = onServer({
  name: 'explain',
  summary: 'explain whether a request would be allowed and which rule decides; nothing is changed',
  examples: [
    'explain --as HF0123456789ABCDEF01 --do s3:GetObject --on photos/2026/cat.jpg',
    'explain --do s3:ListBucket --on photos',
  ],
  flags: [
    { name: 'as', value: 'KEY', meaning: 'access key of the caller, ACCOUNT/USER or ACCOUNT; anonymous if omitted' },
    { name: 'do', value: 'ACTION', meaning: 'action: svc:DeleteObject, s3:DeleteObject or DeleteObject' },
    { name: 'on', value: 'BUCKET[/KEY]', meaning: 'bucket or object' },
    { name: 'version', value: 'ID', meaning: 'version of the object' },
    { name: 'bypass', meaning: 'assume that the request bypasses governance retention' },
  ],
  run: showAdminResult(
    'Explain',
    call => {
      const action = call.flag('do')
      if (action === undefined) throw new BadUsage('--do is missing: holdfast explain --do ACTION')
      const [as, versionId] = [call.flag('as'), call.flag('version')]
      return { as, action, versionId, ...placeOf(call.flag('on')), bypass: call.has('bypass') || undefined }
    },
    // The line breaks are the server's; only the text between them is escaped.
    result => String(result.text).split('\n').map(escapeControls).join('\n'),
  ),
})

const exporting = onServer({
  name: 'ledger export',
  summary: 'export the lock ledger of a bucket for an auditor',
  examples: ['ledger export evidence'],
  arguments: [{ name: 'BUCKET', meaning: 'bucket name, also of a deleted one; _store for the store itself' }],
  async run(call): Promise<CommandResult> {
    const admin = await call.admin()
    for await (const piece of admin.lines('ExportLedger', { bucket: call.argument('BUCKET') })) call.write(piece)
    return { value: undefined, text: '' }
  },
})

/** Checks an export line by line up to the first problem: ledgers grow for years, and may not fit in memory. */
async function checked(call: Invocation, path: string, expected: LedgerExpectation = {}): Promise<LedgerVerdict> {
  const check = new LedgerCheck(expected)
  for await (const line of call.lines(path)) if (!check.take(line)) break
  return check.end()
}

/**
 * An earlier export must verify by itself before it is trusted. Its key signs every later one too: anyone could append
 * to the entries that both have and sign the result with another.
 */
async function earlierOf(call: Invocation): Promise<LedgerExpectation> {
  const path = call.flag('since')
  if (path === undefined) return {}
  const { problem, entries, last, publicKey } = await checked(call, path)
  if (problem !== undefined) throw new CommandFailed(`${path}, line ${problem.line}: ${problem.reason}`)
  return { publicKey: publicKey!, earlier: { entries, last: last! } }
}

async function checkFile(call: Invocation, path: string): Promise<LedgerVerdict> {
  const [publicKey, earlier] = [call.flag('public-key'), await earlierOf(call)]
  return checked(call, path, { ...earlier, ...(publicKey === undefined ? {} : { publicKey }) })
}

async function checkBucket(call: Invocation, bucket: string): Promise<LedgerVerdict> {
  if (call.flag('public-key') !== undefined || call.flag('since') !== undefined) {
    throw new BadUsage('--public-key and --since need a file: export the ledger first')
  }
  return (await (await call.admin()).ask('VerifyLedger', { bucket })) as unknown as LedgerVerdict
}

const verify = onServer({
  name: 'ledger verify',
  summary: 'verify that no ledger entry was altered, removed or reordered; exits 1 at the first bad line',
  examples: ['ledger verify evidence.ndjson', 'ledger verify evidence'],
  arguments: [{ name: 'FILE|BUCKET', meaning: 'exported ledger, - for standard input, or a bucket' }],
  flags: [
    { name: 'public-key', value: 'HEX', meaning: 'public key that must have signed it' },
    { name: 'since', value: 'FILE', meaning: 'earlier export that this one must continue' },
  ],
  async run(call): Promise<CommandResult> {
    const name = call.argument('FILE|BUCKET')
    const isFile = name === '-' || name.includes('/') || existsSync(name)
    const value = await (isFile ? checkFile(call, name) : checkBucket(call, name))
    const { problem, bucket, entries, publicKey } = value
    if (problem === undefined) {
      return { value, text: escapeControls(`whole: ${entries} entries of ${bucket}, signed by ${publicKey}`) }
    }
    const entry = problem.sequence === undefined ? '' : ` (entry ${problem.sequence})`
    return { value, text: escapeControls(`line ${problem.line}${entry}: ${problem.reason}`), code: 1 }
  },
})

const list = onServer({
  name: 'ledger list',
  summary: 'list the buckets that have a ledger (_store is the store itself) and the signing key',
  run: showAdminResult(
    'ListLedgers',
    () => ({}),
    ({ publicKey, buckets }) => [`signed by ${publicKey}`, ...(buckets as string[])].join('\n'),
  ),
})

const clock = onServer({
  name: 'clock show',
  summary: 'show the system clock and the lock clock; exits 1 if the clock has jumped',
  async run(call): Promise<CommandResult> {
    const value = await (await call.admin()).ask('GetClock')
    return { value, text: facts(value), code: value.jumped === true ? 1 : 0 }
  },
})

const confirm = onServer({
  name: 'clock confirm',
  summary: 'confirm that the system clock is right after a jump, so that locks expire by it again',
  run: showAdminResult('ConfirmClock', () => ({})),
})

export const lockCommands: readonly Command[] = [explain, list, exporting, verify, clock, confirm]
