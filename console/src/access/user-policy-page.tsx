/** Writes a policy of a user. */
import { Anchor, Skeleton, TextInput } from '@mantine/core'
import { useState } from 'react'
import { call } from '../api/client.ts'
import { visibleText } from '../format.ts'
import pageClasses from '../pages/page.module.css'
import { PageHead } from '../parts/page-head.tsx'
import { Problem } from '../parts/problem.tsx'
import { Link, navigate, toUser } from '../router.tsx'
import { policyTexts as t } from '../texts/policies.ts'
import { texts } from '../texts/texts.ts'
import { useIdentityChange, useUser } from './identity-queries.ts'
import { PolicyForm } from './policy-form.tsx'

const NAME = /^[\w+=,.@-]{1,128}$/

interface UserPolicyProps {
  readonly accountId: string
  readonly user: string
  /** Undefined for a new one. */
  readonly policy: string | undefined
}

function Form({ accountId, user, policy, before }: UserPolicyProps & { readonly before: string }) {
  const [name, setName] = useState(policy ?? '')
  const [isTried, setTried] = useState(false)
  const isNameWrong = !NAME.test(name)
  const back = (): void => navigate(toUser(accountId, user))
  const saving = useIdentityChange({
    run: (text: string) => call('AttachPolicy', { accountId, user, policy: name, document: text }),
    notice: t.saved,
    onDone: back,
  })
  const isReady = (): boolean => {
    setTried(true)
    return !isNameWrong
  }
  return (
    <>
      {policy === undefined && (
        <TextInput
          label={t.name}
          description={t.nameHint}
          error={isTried && isNameWrong ? t.nameWrong : undefined}
          value={name}
          maw={360}
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          onChange={event => setName(event.currentTarget.value)}
        />
      )}
      <PolicyForm
        bucket={undefined}
        before={before}
        isReady={isReady}
        cancel={back}
        save={async text => {
          await saving.mutateAsync(text)
        }}
      />
    </>
  )
}

export function UserPolicyPage({ accountId, user, policy }: UserPolicyProps) {
  const { data: info, error, refetch } = useUser(accountId, user)
  const found = info?.policies.find(({ name }) => name === policy)
  const above = (
    <Anchor component={Link} href={toUser(accountId, user)} size="sm">
      {visibleText(user)}
    </Anchor>
  )
  return (
    <div className={pageClasses.page}>
      <PageHead title={policy === undefined ? t.newTitle : t.editTitle(visibleText(policy))} above={above} />
      {error !== null && <Problem error={error} retry={() => void refetch()} />}
      {info === undefined && error === null && <Skeleton height={240} aria-label={texts.loading} />}
      {info !== undefined && (
        <Form
          {...{ accountId, user, policy }}
          before={found === undefined ? '' : JSON.stringify(found.document, null, 2)}
        />
      )}
    </div>
  )
}
