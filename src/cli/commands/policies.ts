import { suggestion } from '../../lib/did-you-mean.ts'
import { Fault } from '../../model/faults.ts'
import { CANNED_NAMES, CANNED_POLICIES, cannedPolicy } from '../../rules/access/canned-policies.ts'
import { isPublicPolicy } from '../../rules/access/is-public.ts'
import { readBucketPolicy, readIdentityPolicy } from '../../rules/access/policy.ts'
import { type Command, type CommandResult, command, type Invocation, onServer } from '../command.ts'
import { BadUsage } from '../failures.ts'
import { table } from '../output.ts'
import { runAdminCommand, showAdminResult, type TableRow } from './requests.ts'

const BUCKET = { name: 'BUCKET', meaning: 'bucket name' }
const FILE = { name: 'FILE', meaning: 'policy document; - for standard input' }

const bucketOf = (call: Invocation): TableRow => ({ bucket: call.argument('BUCKET') })

const get = onServer({
  name: 'policy get',
  summary: 'print the policy of a bucket, as it was set',
  examples: ['policy get photos'],
  arguments: [BUCKET],
  run: showAdminResult('GetPolicy', bucketOf, result => String(result.document)),
})

const put = onServer({
  name: 'policy put',
  summary: 'set the policy of a bucket',
  examples: ['policy put photos policy.json'],
  arguments: [BUCKET, FILE],
  run: runAdminCommand(
    'PutPolicy',
    async call => ({ ...bucketOf(call), document: await call.read(call.argument('FILE')) }),
    call => `the policy of ${call.argument('BUCKET')} is set`,
  ),
})

const remove = onServer({
  name: 'policy delete',
  summary: 'delete the policy of a bucket',
  examples: ['policy delete photos'],
  arguments: [BUCKET],
  run: runAdminCommand('DeletePolicy', bucketOf, call => `${call.argument('BUCKET')} has no policy now`),
})

/** Needs neither a server nor a data folder. */
async function check(call: Invocation): Promise<CommandResult> {
  const text = await call.read(call.argument('FILE'))
  const bucket = call.flag('bucket')
  try {
    const policy = bucket === undefined ? readIdentityPolicy(text) : readBucketPolicy(text, bucket)
    const isPublic = bucket !== undefined && isPublicPolicy(policy)
    const value = { valid: true, statements: policy.statements.length, public: isPublic }
    return { value, text: `valid: ${value.statements} statements${isPublic ? ', public' : ''}` }
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    const reason = String(error.detail.reason ?? error.message)
    return { value: { valid: false, reason }, text: `not valid: ${reason}`, code: 1 }
  }
}

const validate = command({
  name: 'policy validate',
  summary: 'check a policy document: as a bucket policy with --bucket, otherwise as a user policy',
  examples: ['policy validate policy.json', 'policy validate policy.json --bucket photos'],
  arguments: [FILE],
  flags: [{ name: 'bucket', value: 'BUCKET', meaning: 'check it as the policy of this bucket' }],
  run: check,
})

const canned = command({
  name: 'policy canned',
  summary: 'list the canned policies, or print the document of one',
  examples: ['policy canned', 'policy canned read-only'],
  arguments: [{ name: CANNED_NAMES.join('|'), meaning: 'policy to print', optional: true }],
  async run(call): Promise<CommandResult> {
    const name = call.maybeArgument(CANNED_NAMES.join('|'))
    if (name === undefined) {
      const policies = CANNED_NAMES.map(one => ({ name: one, meaning: CANNED_POLICIES[one]!.meaning }))
      return { value: { policies }, text: table(policies, ['name', 'meaning']) }
    }
    const document = cannedPolicy(name)
    if (document === undefined) throw new BadUsage(`unknown canned policy: ${name}${suggestion(name, CANNED_NAMES)}`)
    return { value: document, text: JSON.stringify(document, undefined, 2) }
  },
})

export const policyCommands: readonly Command[] = [get, put, remove, validate, canned]
