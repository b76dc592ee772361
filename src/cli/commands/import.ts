import { readFileSync } from 'node:fs'
import type { KeyPair } from '../../auth/sign-request.ts'
import { type S3Address, S3Client } from '../../s3/client.ts'
import { secretFrom } from '../../server/config-secrets.ts'
import { httpUrl } from '../address.ts'
import { type CommandResult, command, type Invocation } from '../command.ts'
import { keyOf } from '../connect.ts'
import { BadUsage, CommandFailed } from '../failures.ts'
import { progressOn, SILENT } from '../import/progress.ts'
import { runImport } from '../import/run.ts'
import { defaultStatePath, State } from '../import/state.ts'

const IN_FLIGHT = 8
const IN_FLIGHT_MAX = 256

/** Reads `s3://bucket/prefix`; the prefix may contain any character. */
function bucketArgument(text: string): { bucket: string; prefix: string } {
  const found = /^s3:\/\/([^/]+)(?:\/(.*))?$/s.exec(text)
  if (found === null) throw new BadUsage(`${text} is not of the form s3://BUCKET[/PREFIX]`)
  return { bucket: found[1]!, prefix: found[2] ?? '' }
}

/** Keys are never flags, because other users of the machine can read the command line. */
function sourceKey(env: NodeJS.ProcessEnv): KeyPair & { sessionToken: string | undefined } {
  const own = {
    accessKey: secretFrom(env, 'HOLDFAST_SOURCE_ACCESS_KEY'),
    secretKey: secretFrom(env, 'HOLDFAST_SOURCE_SECRET_KEY'),
  }
  if (own.accessKey && own.secretKey) {
    const { accessKey, secretKey } = own
    return { accessKey, secretKey, sessionToken: secretFrom(env, 'HOLDFAST_SOURCE_SESSION_TOKEN') }
  }
  const { AWS_ACCESS_KEY_ID: accessKey, AWS_SECRET_ACCESS_KEY: secretKey } = env
  if (accessKey && secretKey) return { accessKey, secretKey, sessionToken: env.AWS_SESSION_TOKEN || undefined }
  const names = 'HOLDFAST_SOURCE_ACCESS_KEY and HOLDFAST_SOURCE_SECRET_KEY'
  throw new CommandFailed(`no key for the source: set ${names}, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY`)
}

function inFlightOf(call: Invocation): number {
  const text = call.flag('in-flight') ?? String(IN_FLIGHT)
  const many = Number(text)
  if (!/^\d+$/.test(text) || many < 1 || many > IN_FLIGHT_MAX) {
    throw new BadUsage(`--in-flight takes a number from 1 to ${IN_FLIGHT_MAX}`)
  }
  return many
}

async function places(call: Invocation): Promise<{ source: S3Address; target: S3Address; prefix: string }> {
  const { bucket, prefix } = bucketArgument(call.argument('s3://BUCKET[/PREFIX]'))
  const from = call.flag('from')
  if (from === undefined) throw new BadUsage('--from is missing: the address of the server to import from')
  const [inFlight, caFile] = [inFlightOf(call), call.flag('ca')]
  const ca = caFile === undefined ? undefined : readFileSync(caFile, 'utf8')
  const { sessionToken, ...key } = sourceKey(call.env)
  const targetKey = await keyOf(call)
  if (targetKey === undefined) {
    throw new CommandFailed(
      'no key for the target: set HOLDFAST_ACCESS_KEY and HOLDFAST_SECRET_KEY, or name the data folder',
    )
  }
  const common = { inFlight, ca }
  return {
    prefix,
    source: {
      ...common,
      endpoint: httpUrl(from, 'from'),
      bucket,
      region: call.flag('from-region') ?? call.env.AWS_REGION ?? 'us-east-1',
      key,
      sessionToken,
      virtualHost: call.has('virtual-host'),
    },
    target: {
      ...common,
      endpoint: httpUrl(call.flag('into') ?? 'http://127.0.0.1:9000', 'into'),
      bucket: call.flag('to') ?? bucket,
      region: call.flag('region') ?? 'us-east-1',
      key: targetKey,
    },
  }
}

const nameOf = ({ endpoint, bucket }: S3Address): string => `${endpoint.origin}/${bucket}`

async function run(call: Invocation): Promise<CommandResult> {
  const where = await places(call)
  const [from, to] = [`${nameOf(where.source)}/${where.prefix}`, nameOf(where.target)]
  const state = State.open(call.flag('state') ?? defaultStatePath(where.target.bucket, from, to), from, to)
  const [source, target] = [new S3Client(where.source), new S3Client(where.target)]
  const isSilent = call.has('json')
  try {
    const report = await runImport(
      {
        source,
        target,
        prefix: where.prefix,
        inFlight: where.source.inFlight,
        state,
        progress: isSilent ? SILENT : progressOn(call.stderr),
        currentOnly: call.has('current-only'),
        withSettings: call.has('with-bucket-settings'),
        withoutLists: call.has('without-acls'),
        overwrite: call.has('overwrite'),
        skipUnreadable: call.has('skip-unreadable'),
        onlyCompare: call.has('compare'),
      },
      { counts: !isSilent && call.stderr.isTTY === true },
    )
    return { value: { from, to, ...report.value() }, text: report.text(), code: report.isWhole ? 0 : 1 }
  } finally {
    for (const client of [source, target]) client.close()
    state.close()
  }
}

export const importCommand = command({
  name: 'import',
  summary: 'copy a bucket with its versions and locks from another S3 server; exits 1 if anything is missing',
  examples: [
    'import s3://photos --from http://old-server:9000',
    'import s3://photos/2026/ --from http://old-server:9000 --to archive --current-only',
  ],
  arguments: [{ name: 's3://BUCKET[/PREFIX]', meaning: 'bucket and prefix to import' }],
  flags: [
    { name: 'from', value: 'URL', meaning: 'server to import from' },
    { name: 'from-region', value: 'NAME', meaning: "the source's region (AWS_REGION, or us-east-1)" },
    { name: 'virtual-host', meaning: 'address the source bucket by virtual host instead of by path' },
    { name: 'into', value: 'URL', meaning: 'object API of the target (http://127.0.0.1:9000)' },
    { name: 'to', value: 'BUCKET', meaning: 'target bucket, created if missing (same name as the source)' },
    { name: 'region', value: 'NAME', meaning: "the target's region (us-east-1)", fromEnvironment: true },
    { name: 'ca', value: 'FILE', meaning: 'CA certificate for both servers', fromEnvironment: true },
    { name: 'data', value: 'DIR', meaning: "the target's data folder, to find its root key", fromEnvironment: true },
    { name: 'state', value: 'FILE', meaning: 'file that makes the import resumable (./holdfast-import-BUCKET.state)' },
    { name: 'in-flight', value: 'N', meaning: `keys copied at the same time (${IN_FLIGHT})` },
    { name: 'current-only', meaning: 'skip noncurrent versions and delete markers' },
    { name: 'with-bucket-settings', meaning: 'also copy the policy, lifecycle, CORS and other bucket settings' },
    { name: 'without-acls', meaning: 'skip object ACLs' },
    { name: 'overwrite', meaning: 'replace objects that differ, in a bucket without versioning' },
    { name: 'skip-unreadable', meaning: 'skip versions that the source permanently refuses to return' },
    { name: 'compare', meaning: 'compare both sides without writing' },
  ],
  run,
})
