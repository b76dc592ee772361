/** One account: its users and its own keys. */
import { Anchor, Button, Skeleton, Text } from '@mantine/core'
import { useState } from 'react'
import { call } from '../api/client.ts'
import { useSession } from '../api/session.tsx'
import { timeText, visibleText } from '../format.ts'
import pageClasses from '../pages/page.module.css'
import { ConfirmChangeDialog } from '../parts/confirm-change-dialog.tsx'
import { Facts } from '../parts/facts.tsx'
import { Icon } from '../parts/icons.tsx'
import { PageHead } from '../parts/page-head.tsx'
import { Problem } from '../parts/problem.tsx'
import { Section } from '../parts/section.tsx'
import { Link, navigate, toAccess, toUser } from '../router.tsx'
import { accessTexts } from '../texts/access.ts'
import { texts } from '../texts/texts.ts'
import classes from './access.module.css'
import { ChangeAccountDialog, CreateUserDialog } from './account-dialogs.tsx'
import { StateBadges } from './accounts-page.tsx'
import { type AccountInfo, useAccount, useIdentityChange, useUsers } from './identity-queries.ts'
import { KeysSection } from './keys-section.tsx'

const t = accessTexts.account
const ROOT = '000000000000'

type Open = 'edit' | 'user' | 'disable' | 'delete'

interface DialogsProps {
  readonly account: AccountInfo
  readonly open: Open
  readonly close: () => void
}

function Dialogs({ account, open, close }: DialogsProps) {
  const { accountId, displayName, disabled } = account
  const disabling = useIdentityChange({
    run: () => call('ChangeAccount', { accountId, disabled: !disabled }),
    notice: disabled ? t.enabledNotice(displayName) : t.disabledNotice(displayName),
    onDone: close,
  })
  const deletion = useIdentityChange({
    run: () => call('DeleteAccount', { accountId }),
    notice: t.deletedNotice(displayName),
    leavesPage: true,
    onDone: () => navigate(toAccess()),
  })
  if (open === 'edit') return <ChangeAccountDialog account={account} close={close} />
  if (open === 'user') return <CreateUserDialog accountId={accountId} close={close} />
  if (open === 'disable') {
    return (
      <ConfirmChangeDialog
        title={t.disableTitle(displayName)}
        text={t.disableText}
        confirm={t.disable}
        change={disabling}
        close={close}
      />
    )
  }
  return (
    <ConfirmChangeDialog
      title={t.deleteTitle(displayName)}
      text={t.deleteText}
      confirm={t.deleteConfirm}
      change={deletion}
      close={close}
    />
  )
}

function Actions({ account, setOpen }: { readonly account: AccountInfo; readonly setOpen: (open: Open) => void }) {
  const { accountId, displayName, disabled, createdAt } = account
  const isOwn = useSession().account.accountId === accountId
  const enabling = useIdentityChange({
    run: () => call('ChangeAccount', { accountId, disabled: false }),
    notice: t.enabledNotice(displayName),
  })
  return (
    <>
      <Button leftSection={<Icon name="plus" />} onClick={() => setOpen('user')}>
        {t.createUser}
      </Button>
      <Button variant="default" onClick={() => setOpen('edit')}>
        {t.edit}
      </Button>
      {!isOwn && (
        <Button
          variant="default"
          loading={enabling.isPending}
          onClick={() => (disabled ? enabling.mutate() : setOpen('disable'))}
        >
          {disabled ? t.enable : t.disable}
        </Button>
      )}
      {!isOwn && createdAt !== undefined && (
        <Button color="red" variant="outline" leftSection={<Icon name="trash" />} onClick={() => setOpen('delete')}>
          {t.delete}
        </Button>
      )}
    </>
  )
}

function Users({ accountId }: { readonly accountId: string }) {
  const { data, error, refetch } = useUsers(accountId)
  return (
    <Section title={t.users}>
      {error !== null && <Problem error={error} retry={() => void refetch()} />}
      {data === undefined && error === null && <Skeleton height={60} aria-label={texts.loading} />}
      {data?.users.length === 0 && <Text>{t.noUsers}</Text>}
      {data !== undefined && data.users.length > 0 && (
        <ul className={classes.rows}>
          {data.users.map(({ name, policies, disabled }) => (
            <li key={name} className={classes.row}>
              <Link href={toUser(accountId, name)} className={pageClasses.name}>
                {visibleText(name)}
              </Link>
              <Text size="sm">{t.policiesCount(policies.length)}</Text>
              <StateBadges disabled={disabled} />
            </li>
          ))}
        </ul>
      )}
    </Section>
  )
}

export function AccountPage({ accountId }: { readonly accountId: string }) {
  const { data: account, error, refetch } = useAccount(accountId)
  const [open, setOpen] = useState<Open>()
  const above = (
    <Anchor component={Link} href={toAccess()} size="sm">
      {accessTexts.accounts.title}
    </Anchor>
  )
  if (error !== null) return <Problem error={error} retry={() => void refetch()} />
  if (account === undefined) return <Skeleton height={240} aria-label={texts.loading} />
  const { displayName, canonicalId, email, createdAt } = account
  return (
    <div className={pageClasses.page}>
      <PageHead title={visibleText(displayName)} above={above}>
        <Actions account={account} setOpen={setOpen} />
      </PageHead>
      <Facts
        title={t.details}
        rows={[
          [accessTexts.accounts.id, accountId],
          [t.canonicalId, canonicalId],
          [t.email, email ?? t.none],
          [accessTexts.accounts.created, createdAt === undefined ? t.always : timeText(new Date(createdAt))],
        ]}
      >
        <StateBadges {...account} />
      </Facts>
      <Users accountId={accountId} />
      <KeysSection title={t.keys} accountId={accountId} {...(accountId === ROOT ? { note: t.rootKey } : {})} />
      {open !== undefined && <Dialogs {...{ account, open }} close={() => setOpen(undefined)} />}
    </div>
  )
}
