/** One user: its policies and keys. */
import { Anchor, Badge, Button, Group, Skeleton, Text, Title } from '@mantine/core'
import { useState } from 'react'
import { call } from '../api/client.ts'
import { visibleText } from '../format.ts'
import pageClasses from '../pages/page.module.css'
import { ConfirmChangeDialog } from '../parts/confirm-change-dialog.tsx'
import { Icon } from '../parts/icons.tsx'
import { PageHead } from '../parts/page-head.tsx'
import { Problem } from '../parts/problem.tsx'
import { Section } from '../parts/section.tsx'
import { Link, navigate, toAccount, toExplain, toUserPolicy } from '../router.tsx'
import { accessTexts } from '../texts/access.ts'
import { texts } from '../texts/texts.ts'
import classes from './access.module.css'
import { StateBadges } from './accounts-page.tsx'
import { type UserInfo, useAccount, useIdentityChange, useUser } from './identity-queries.ts'
import { KeysSection } from './keys-section.tsx'
import { PolicyWords } from './policy-editor.tsx'

const t = accessTexts.user
const OF_ACCOUNT = accessTexts.account

type Policy = UserInfo['policies'][number]

function PolicyRow({ info, policy }: { readonly info: UserInfo; readonly policy: Policy }) {
  const { accountId, name: user } = info
  const { name, document, fromFile } = policy
  const [isOpen, setOpen] = useState(false)
  const detaching = useIdentityChange({
    run: () => call('DetachPolicy', { accountId, user, policy: name }),
    notice: t.detached(name),
    onDone: () => setOpen(false),
  })
  return (
    <li className={classes.row}>
      <div className={classes.what}>
        <Group gap="xs" mb={4}>
          <Title order={3} size="h5">
            {visibleText(name)}
          </Title>
          {fromFile && <Badge variant="outline">{t.fromFile}</Badge>}
        </Group>
        <PolicyWords text={JSON.stringify(document)} />
        {fromFile && (
          <Text size="sm" c="dimmed" mt={4}>
            {t.fromFileHint}
          </Text>
        )}
      </div>
      {!fromFile && (
        <div className={classes.buttons}>
          <Button
            size="xs"
            variant="default"
            component={Link}
            href={toUserPolicy(accountId, user, name)}
            aria-label={t.edit(name)}
          >
            {t.words.edit}
          </Button>
          <Button size="xs" color="red" variant="outline" aria-label={t.detach(name)} onClick={() => setOpen(true)}>
            {t.words.detach}
          </Button>
        </div>
      )}
      {isOpen && (
        <ConfirmChangeDialog
          title={t.detachTitle(name)}
          text={t.detachText}
          confirm={t.detachConfirm}
          change={detaching}
          close={() => setOpen(false)}
        />
      )}
    </li>
  )
}

function Policies({ info }: { readonly info: UserInfo }) {
  return (
    <Section title={t.policies}>
      {info.policies.length === 0 && <Text>{t.noPolicies}</Text>}
      {info.policies.length > 0 && (
        <ul className={classes.rows}>
          {info.policies.map(policy => (
            <PolicyRow key={policy.name} info={info} policy={policy} />
          ))}
        </ul>
      )}
      <Button
        variant="default"
        leftSection={<Icon name="plus" />}
        component={Link}
        href={toUserPolicy(info.accountId, info.name)}
      >
        {t.attach}
      </Button>
    </Section>
  )
}

function Actions({ info }: { readonly info: UserInfo }) {
  const { accountId, name, disabled } = info
  const [open, setOpen] = useState<'disable' | 'delete'>()
  const close = (): void => setOpen(undefined)
  const change = useIdentityChange({
    run: () => call('ChangeUser', { accountId, user: name, disabled: !disabled }),
    notice: disabled ? OF_ACCOUNT.enabledNotice(name) : OF_ACCOUNT.disabledNotice(name),
    onDone: close,
  })
  const deletion = useIdentityChange({
    run: () => call('DeleteUser', { accountId, user: name }),
    notice: t.deletedNotice(name),
    leavesPage: true,
    onDone: () => navigate(toAccount(accountId)),
  })
  return (
    <>
      <Button
        variant="default"
        loading={change.isPending}
        onClick={() => (disabled ? change.mutate() : setOpen('disable'))}
      >
        {disabled ? OF_ACCOUNT.enable : OF_ACCOUNT.disable}
      </Button>
      <Button color="red" variant="outline" leftSection={<Icon name="trash" />} onClick={() => setOpen('delete')}>
        {OF_ACCOUNT.delete}
      </Button>
      {open === 'disable' && (
        <ConfirmChangeDialog
          title={OF_ACCOUNT.disableTitle(name)}
          text={t.disableText}
          confirm={OF_ACCOUNT.disable}
          change={change}
          close={close}
        />
      )}
      {open === 'delete' && (
        <ConfirmChangeDialog
          title={t.deleteTitle(name)}
          text={t.deleteText}
          confirm={t.deleteConfirm}
          change={deletion}
          close={close}
        />
      )}
    </>
  )
}

export function UserPage({ accountId, user }: { readonly accountId: string; readonly user: string }) {
  const { data: info, error, refetch } = useUser(accountId, user)
  const { data: account } = useAccount(accountId)
  const above = (
    <Anchor component={Link} href={toAccount(accountId)} size="sm">
      {t.of(visibleText(account?.displayName ?? accountId))}
    </Anchor>
  )
  return (
    <div className={pageClasses.page}>
      <PageHead title={visibleText(user)} above={above}>
        {info !== undefined && <Actions info={info} />}
      </PageHead>
      {error !== null && <Problem error={error} retry={() => void refetch()} />}
      {info === undefined && error === null && <Skeleton height={240} aria-label={texts.loading} />}
      {info !== undefined && (
        <>
          {info.disabled && <StateBadges disabled />}
          <Policies info={info} />
          <Anchor component={Link} href={toExplain({ as: `${accountId}/${user}` })}>
            {t.explain}
          </Anchor>
          <KeysSection title={t.keys} accountId={accountId} user={user} />
        </>
      )}
    </div>
  )
}
