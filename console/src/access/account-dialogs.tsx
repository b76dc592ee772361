/** Dialogs that change an account or create one of its users. */
import { Button, Checkbox, Stack, TextInput } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import { call } from '../api/client.ts'
import { ApiFailure } from '../api/failure.ts'
import { useSession } from '../api/session.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Problem } from '../parts/problem.tsx'
import { navigate, toUser } from '../router.tsx'
import { accessTexts } from '../texts/access.ts'
import { type AccountInfo, useIdentityChange } from './identity-queries.ts'

const t = accessTexts.account
const USER_NAME = /^[\w+=,.@-]{1,128}$/

interface ChangeAccountProps {
  readonly account: AccountInfo
  readonly close: () => void
}

export function ChangeAccountDialog({ account, close }: ChangeAccountProps) {
  const { accountId } = account
  const [displayName, setName] = useState(account.displayName)
  const [email, setEmail] = useState(account.email ?? '')
  const [admin, setAdmin] = useState(account.admin)
  const isOwn = useSession().account.accountId === accountId
  const change = useIdentityChange({
    run: () => call('ChangeAccount', { accountId, displayName, admin, ...(email === '' ? {} : { email }) }),
    notice: t.saved,
    onDone: close,
  })
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    change.mutate()
  }
  return (
    <Dialog title={t.editTitle} close={close}>
      <form onSubmit={submit} noValidate>
        <Stack>
          {change.error !== null && <Problem error={change.error} />}
          <TextInput
            label={t.name}
            value={displayName}
            onChange={event => setName(event.currentTarget.value)}
            autoComplete="off"
            data-autofocus
          />
          <TextInput
            label={t.email}
            value={email}
            onChange={event => setEmail(event.currentTarget.value)}
            autoComplete="off"
          />
          <Checkbox
            label={accessTexts.accounts.admin}
            description={accessTexts.accounts.adminHint}
            checked={admin}
            disabled={isOwn}
            onChange={event => setAdmin(event.currentTarget.checked)}
          />
          <Button type="submit" loading={change.isPending}>
            {t.save}
          </Button>
        </Stack>
      </form>
    </Dialog>
  )
}

export function CreateUserDialog({ accountId, close }: { readonly accountId: string; readonly close: () => void }) {
  const [name, setName] = useState('')
  const [isAgain, setAgain] = useState(false)
  const [isChecked, setChecked] = useState(false)
  const isWrong = !USER_NAME.test(name)
  const creation = useIdentityChange({
    run: () => call('CreateUser', { accountId, name, ...(isAgain ? { again: true } : {}) }),
    notice: t.userCreated(name),
    onDone: () => navigate(toUser(accountId, name)),
  })
  const { error } = creation
  const existed = error instanceof ApiFailure && error.code === 'EntityAlreadyExists' && /deleted/.test(error.message)
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    setChecked(true)
    if (!isWrong) creation.mutate()
  }
  return (
    <Dialog title={t.createUserTitle} close={close}>
      <form onSubmit={submit} noValidate>
        <Stack>
          {error !== null && <Problem error={error} />}
          <TextInput
            label={t.userName}
            description={t.userNameHint}
            error={isChecked && isWrong ? t.userNameWrong : undefined}
            value={name}
            onChange={event => setName(event.currentTarget.value)}
            autoCapitalize="none"
            autoComplete="off"
            spellCheck={false}
            data-autofocus
          />
          {(existed || isAgain) && (
            <Checkbox
              label={t.again}
              description={t.againHint}
              checked={isAgain}
              onChange={event => setAgain(event.currentTarget.checked)}
            />
          )}
          <Button type="submit" loading={creation.isPending}>
            {t.createUserSubmit}
          </Button>
        </Stack>
      </form>
    </Dialog>
  )
}
