/** All accounts, for administrators; for others their own access. */
import { Badge, Button, Checkbox, Group, Skeleton, Stack, Table, Text, TextInput } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import { call } from '../api/client.ts'
import { useSession } from '../api/session.tsx'
import { timeText, visibleText } from '../format.ts'
import pageClasses from '../pages/page.module.css'
import { Dialog } from '../parts/dialog.tsx'
import { Icon } from '../parts/icons.tsx'
import { PageHead } from '../parts/page-head.tsx'
import { Problem } from '../parts/problem.tsx'
import { Link, navigate, toAccess, toAccount, usePlace } from '../router.tsx'
import { accessTexts } from '../texts/access.ts'
import { texts } from '../texts/texts.ts'
import { AccessTabs } from './access-tabs.tsx'
import { type AccountInfo, useAccounts, useIdentityChange } from './identity-queries.ts'
import { OwnAccess } from './own-access.tsx'

const t = accessTexts.accounts

export function StateBadges({ admin = false, disabled }: { readonly admin?: boolean; readonly disabled: boolean }) {
  return (
    <Group gap={6}>
      <Badge miw="fit-content" variant={disabled ? 'filled' : 'outline'} color={disabled ? 'gray.7' : undefined}>
        {disabled ? t.disabled : t.active}
      </Badge>
      {admin && (
        <Badge miw="fit-content" variant="filled">
          {t.administrator}
        </Badge>
      )}
    </Group>
  )
}

function AccountRow({ account }: { readonly account: AccountInfo }) {
  const { accountId, displayName, createdAt } = account
  return (
    <Table.Tr>
      <Table.Td>
        <Link href={toAccount(accountId)} className={pageClasses.name}>
          {visibleText(displayName)}
        </Link>
      </Table.Td>
      <Table.Td>{accountId}</Table.Td>
      <Table.Td>
        <StateBadges {...account} />
      </Table.Td>
      <Table.Td className={pageClasses.wide}>
        {createdAt === undefined ? t.builtIn : timeText(new Date(createdAt))}
      </Table.Td>
    </Table.Tr>
  )
}

function CreateAccount({ close }: { readonly close: () => void }) {
  const [displayName, setName] = useState('')
  const [email, setEmail] = useState('')
  const [admin, setAdmin] = useState(false)
  const given = { ...(displayName === '' ? {} : { displayName }), ...(email === '' ? {} : { email }) }
  const creation = useIdentityChange({
    run: () => call('CreateAccount', { admin, ...given }),
    onDone: created => navigate(toAccount(created.accountId)),
    notice: t.createdNotice(displayName),
  })
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    creation.mutate()
  }
  return (
    <Dialog title={t.createTitle} close={close}>
      <form onSubmit={submit} noValidate>
        <Stack>
          <Text size="sm">{t.createText}</Text>
          {creation.error !== null && <Problem error={creation.error} />}
          <TextInput
            label={t.name}
            description={t.nameHint}
            value={displayName}
            onChange={event => setName(event.currentTarget.value)}
            autoComplete="off"
            data-autofocus
          />
          <TextInput
            label={t.email}
            description={t.emailHint}
            value={email}
            onChange={event => setEmail(event.currentTarget.value)}
            autoComplete="off"
          />
          <Checkbox
            label={t.admin}
            description={t.adminHint}
            checked={admin}
            onChange={event => setAdmin(event.currentTarget.checked)}
          />
          <Button type="submit" loading={creation.isPending}>
            {t.submit}
          </Button>
        </Stack>
      </form>
    </Dialog>
  )
}

function AccountTable({ accounts }: { readonly accounts: readonly AccountInfo[] }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling area must be reachable by keyboard.
    <section className={pageClasses.table} tabIndex={0} aria-label={t.title}>
      <Table highlightOnHover verticalSpacing="sm">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t.name}</Table.Th>
            <Table.Th>{t.id}</Table.Th>
            <Table.Th>{t.state}</Table.Th>
            <Table.Th className={pageClasses.wide}>{t.created}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {accounts.map(account => (
            <AccountRow key={account.accountId} account={account} />
          ))}
        </Table.Tbody>
      </Table>
    </section>
  )
}

export function AccountsPage() {
  const { administrator } = useSession()
  const { query } = usePlace()
  const { data, error, isLoading, refetch } = useAccounts(administrator)
  const title = administrator ? t.title : accessTexts.own.title
  return (
    <div className={pageClasses.page}>
      <PageHead title={title}>
        {administrator && (
          <Button leftSection={<Icon name="plus" />} onClick={() => navigate(`${toAccess()}?create=yes`)}>
            {t.create}
          </Button>
        )}
      </PageHead>
      <AccessTabs />
      {error !== null && <Problem error={error} retry={() => void refetch()} />}
      {isLoading && <Skeleton height={240} aria-label={texts.loading} />}
      {data !== undefined && <AccountTable accounts={data.accounts} />}
      {!administrator && <OwnAccess />}
      {administrator && query.get('create') === 'yes' && (
        <CreateAccount close={() => navigate(toAccess(), { replace: true })} />
      )}
    </div>
  )
}
