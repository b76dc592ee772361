/** The verdict, the reasons for it, and the deciding statement in the text of its policy. */
import { Alert, Button, Text } from '@mantine/core'
import { useState } from 'react'
import type { AdminApi } from '../api/admin-api.ts'
import { useSession } from '../api/session.tsx'
import { visibleText } from '../format.ts'
import { Icon } from '../parts/icons.tsx'
import { Section } from '../parts/section.tsx'
import { type ExplainFields, toBucketAccess, toUser } from '../router.tsx'
import { explainTexts as t } from '../texts/explain.ts'
import { CitedPolicy } from './cited-policy.tsx'
import classes from './explain.module.css'
import { ExplainLock } from './explain-lock.tsx'
import { useUser } from './identity-queries.ts'
import { spelledKey } from './policy-completions.ts'

type Answer = AdminApi['Explain']['output']
type Reason = Answer['access']['reasons'][number]

interface AnswerProps {
  readonly fields: ExplainFields
  readonly answer: Answer
}

const COLORS = { allowed: 'green.9', refused: 'red', depends: 'yellow.9' } as const

function Verdict({ fields, answer }: AnswerProps) {
  const { accessKey } = useSession()
  const { as, action = '', bucket, key } = fields
  const { verdict, because, dependsOn } = answer
  const named = as?.includes('/') ? t.user(visibleText(as)) : t.holder(visibleText(as ?? ''))
  const who = as === undefined ? t.anyone : as === accessKey ? t.you : named
  const where = bucket === undefined ? '' : t.onThe(visibleText(key === undefined ? bucket : `${bucket}/${key}`))
  const keys = dependsOn.map(spelledKey).join(', ')
  return (
    <Alert
      role="status"
      variant="outline"
      color={COLORS[verdict]}
      icon={<Icon name={verdict === 'allowed' ? 'key' : 'alert'} />}
      title={t.titles[verdict]}
    >
      {t.verdict[verdict](who, action, where, keys)}
      {because === 'lock' && ` ${t.verdict.byLock}`}
      {because === 'missing' && answer.access.allowed && ` ${t.verdict.missing}`}
    </Alert>
  )
}

interface PolicyPlace {
  readonly name: string
  /** Where it can be read or changed. */
  readonly href: string | undefined
}

type FindPolicy = (policy: 'identity' | 'bucket', number: number) => PolicyPlace

/** Names of users' policies are known to administrators. */
function usePolicyPlaces({ fields, answer }: AnswerProps): FindPolicy {
  const { administrator } = useSession()
  const { account = '', user = '' } = answer.asked.as as { account?: string; user?: string }
  const { data } = useUser(account, user, administrator && user !== '')
  return (policy, number) => {
    const { bucket = '' } = fields
    if (policy === 'bucket') return { name: t.bucketPolicy(bucket), href: toBucketAccess(bucket) }
    const found = data?.policies[number]
    if (found === undefined) return { name: t.userPolicyNumber(number + 1), href: undefined }
    return { name: t.userPolicy(visibleText(found.name)), href: toUser(account, user) }
  }
}

function reasonWords(reason: Reason, find: FindPolicy): string {
  const { kind, effect, index = 0, sid, policy, number = 0, rule = '', side = '' } = reason
  if (kind === 'statement' && effect !== undefined && policy !== undefined) {
    const shownSid = sid === undefined ? '' : t.sid(visibleText(sid))
    return t.statement(t.effects[effect], index + 1, shownSid, find(policy, number).name)
  }
  if (kind === 'grant') {
    const grant = reason.grant as { grantee: string; permission: string }
    return t.grant(reason.on ?? '', grant.permission, grant.grantee)
  }
  if (kind === 'ownership') return t.rules[rule] ?? reason.text
  if (kind === 'block') return t.block(reason.block ?? '')
  if (kind === 'nothing allows') return t.sides[side] ?? reason.text
  return t.reasons[kind] ?? reason.text
}

function Reasons({ fields, answer }: AnswerProps) {
  const find = usePolicyPlaces({ fields, answer })
  const { reasons } = answer.access
  const policyOf = ({ kind, policy, number }: Reason) =>
    kind === 'statement' ? answer.policies.find(one => one.policy === policy && one.number === number) : undefined
  const [picked, setPicked] = useState<number>()
  const shown = picked ?? reasons.findIndex(reason => policyOf(reason) !== undefined)
  const reason = reasons[shown]
  const cited = reason && policyOf(reason)
  return (
    <Section title={t.why}>
      {reasons.length === 0 && <Text>{t.hidden}</Text>}
      <ol className={classes.steps}>
        {reasons.map((one, i) => (
          <li key={one.text}>
            {reasonWords(one, find)}{' '}
            {i !== shown && policyOf(one) !== undefined && (
              <Button size="compact-xs" variant="default" onClick={() => setPicked(i)}>
                {t.show}
              </Button>
            )}
          </li>
        ))}
      </ol>
      {cited !== undefined && (
        <CitedPolicy {...find(cited.policy, cited.number)} document={cited.document} statement={reason?.index ?? 0} />
      )}
    </Section>
  )
}

export function ExplainAnswer({ fields, answer }: AnswerProps) {
  return (
    <>
      <Verdict fields={fields} answer={answer} />
      <Reasons fields={fields} answer={answer} />
      {answer.lock !== null && <ExplainLock lock={answer.lock} />}
      {answer.notes.length > 0 && (
        <Section title={t.notes}>
          {answer.notes.map(note => (
            <Text key={note}>{note}</Text>
          ))}
        </Section>
      )}
    </>
  )
}
