/** Schemas of results, for the API description. */
import type { Schema } from './input.ts'

export const TEXT: Schema = { type: 'string' }
export const TIME: Schema = { type: 'string', format: 'date-time' }
export const COUNT: Schema = { type: 'integer' }
export const DECIMAL: Schema = { type: 'number' }
export const YES_OR_NO: Schema = { type: 'boolean' }

export const oneOfWords = (...words: readonly string[]): Schema => ({ type: 'string', enum: words })
export const listOf = (items: Schema): Schema => ({ type: 'array', items })

/** Properties whose name ends with `?` may be absent. */
export function objectOf(fields: Readonly<Record<string, Schema>>): Schema {
  const names = Object.keys(fields)
  return {
    type: 'object',
    required: names.filter(name => !name.endsWith('?')),
    properties: Object.fromEntries(names.map(name => [name.replace(/\?$/, ''), fields[name]!])),
  }
}

/** Which of the optional properties there are depends on the kind. */
const REASON = objectOf({
  kind: oneOfWords('statement', 'grant', 'account key', 'ownership', 'block', 'nothing allows', 'unreadable policy'),
  text: TEXT,
  'policy?': oneOfWords('identity', 'bucket'),
  'number?': { ...COUNT, description: "Which of the user's policies; 0 for the bucket's" },
  'index?': { ...COUNT, description: 'Of the statement in its policy, or of the grant in its ACL' },
  'sid?': TEXT,
  'effect?': oneOfWords('Allow', 'Deny'),
  'on?': oneOfWords('bucket', 'object'),
  'grant?': { type: 'object' },
  'rule?': TEXT,
  'block?': TEXT,
  'side?': TEXT,
})

const SINCE: Schema = { ...objectOf({ time: TIME, by: TEXT }), nullable: true }
const LOCK: Schema = {
  ...objectOf({
    versionId: TEXT,
    hold: { ...oneOfWords('ON', 'OFF'), nullable: true },
    heldSince: SINCE,
    'retention?': objectOf({ mode: oneOfWords('governance', 'compliance'), until: TIME }),
    retainedSince: SINCE,
    stops: { ...TEXT, nullable: true },
    mayBypass: YES_OR_NO,
  }),
  nullable: true,
}

const EXPLAINED: Readonly<Record<string, Schema>> = {
  asked: { type: 'object', description: 'The question' },
  verdict: oneOfWords('allowed', 'refused', 'depends'),
  because: oneOfWords('access', 'lock', 'missing'),
  access: objectOf({ allowed: YES_OR_NO, reasons: listOf(REASON) }),
  dependsOn: listOf(TEXT),
  isMissing: YES_OR_NO,
  lock: LOCK,
  notes: listOf(TEXT),
  text: { ...TEXT, description: 'The explanation for people, several lines' },
}

export const EXPLANATION: Schema = objectOf(EXPLAINED)

const CITED_POLICY = objectOf({
  policy: oneOfWords('identity', 'bucket'),
  number: { ...COUNT, description: "Which of the user's policies; 0 for the bucket's" },
  document: { ...TEXT, description: 'As it was set' },
})

export const EXPLANATION_WITH_POLICIES: Schema = objectOf({
  ...EXPLAINED,
  policies: {
    ...listOf(CITED_POLICY),
    description: 'Those whose statements are reasons, as far as the caller may read',
  },
})

export const ACCOUNT: Schema = objectOf({
  accountId: TEXT,
  canonicalId: TEXT,
  displayName: TEXT,
  'email?': TEXT,
  admin: YES_OR_NO,
  disabled: YES_OR_NO,
  'createdAt?': { ...TIME, description: 'Absent for a built-in account' },
})

const ATTACHED_POLICY = objectOf({
  name: TEXT,
  fromFile: { ...YES_OR_NO, description: 'Set by the accounts file, which sets it again at the next start' },
  document: { type: 'object' },
})

export const USER: Schema = objectOf({
  accountId: TEXT,
  name: TEXT,
  policies: listOf(ATTACHED_POLICY),
  disabled: YES_OR_NO,
  'createdAt?': TIME,
})

/** A key without its secret. */
export const KEY_FIELDS: Readonly<Record<string, Schema>> = {
  accessKey: TEXT,
  accountId: TEXT,
  'user?': { ...TEXT, description: 'Absent for a key of the account itself' },
  disabled: YES_OR_NO,
  'createdAt?': TIME,
}

const AFFECTED = objectOf({ bucket: TEXT, key: TEXT, versionId: TEXT })
const PART = objectOf({ uploadId: TEXT, number: COUNT })
export const DAMAGE: Schema = objectOf({
  what: oneOfWords('blob', 'record'),
  id: TEXT,
  message: TEXT,
  objects: listOf(AFFECTED),
  parts: listOf(PART),
})

export const SCRUB: Schema = objectOf({
  state: oneOfWords('never', 'running', 'done', 'failed'),
  'startedAt?': TIME,
  'endedAt?': TIME,
  records: COUNT,
  bytes: COUNT,
  damaged: COUNT,
  damage: listOf(DAMAGE),
  'error?': TEXT,
})
