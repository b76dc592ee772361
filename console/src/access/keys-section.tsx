/** The access keys of an account or a user. */
import { Button, Skeleton, Text } from '@mantine/core'
import { useState } from 'react'
import { call } from '../api/client.ts'
import { useSession } from '../api/session.tsx'
import { timeText } from '../format.ts'
import { ConfirmChangeDialog } from '../parts/confirm-change-dialog.tsx'
import { Icon } from '../parts/icons.tsx'
import { Problem } from '../parts/problem.tsx'
import { Section } from '../parts/section.tsx'
import { accessTexts } from '../texts/access.ts'
import { texts } from '../texts/texts.ts'
import classes from './access.module.css'
import { StateBadges } from './accounts-page.tsx'
import { type CreatedKey, type KeyInfo, useIdentityChange, useKeys } from './identity-queries.ts'
import { SecretDialog } from './secret-dialog.tsx'

const t = accessTexts.keys

interface Shown {
  readonly created: CreatedKey
  readonly replaces: string | undefined
}

function KeyDialogs({ info, open, close, show }: KeyRowProps & { open: 'delete' | 'rotate'; close: () => void }) {
  const { accessKey, accountId, user } = info
  const deletion = useIdentityChange({
    run: () => call('DeleteKey', { accessKey }),
    notice: t.deletedNotice(accessKey),
    onDone: close,
  })
  const rotation = useIdentityChange({
    run: () => call('CreateKey', { accountId, user }),
    onDone: created => {
      close()
      show({ created, replaces: accessKey })
    },
  })
  return open === 'delete' ? (
    <ConfirmChangeDialog
      title={t.deleteTitle}
      text={t.deleteText(accessKey)}
      confirm={t.deleteConfirm}
      change={deletion}
      close={close}
    />
  ) : (
    <ConfirmChangeDialog
      title={t.rotateTitle}
      text={t.rotateText(accessKey)}
      confirm={t.rotateConfirm}
      change={rotation}
      close={close}
      color="harbour"
    />
  )
}

interface KeyRowProps {
  readonly info: KeyInfo
  readonly show: (shown: Shown) => void
}

function KeyRow({ info, show }: KeyRowProps) {
  const { accessKey, disabled, createdAt } = info
  const [open, setOpen] = useState<'delete' | 'rotate'>()
  const isOwn = useSession().accessKey === accessKey
  const change = useIdentityChange({
    run: () => call('ChangeKey', { accessKey, disabled: !disabled }),
    notice: disabled ? t.enabledNotice(accessKey) : t.disabledNotice(accessKey),
  })
  const small = { size: 'xs', variant: 'default' } as const
  return (
    <li className={classes.row}>
      <div className={classes.what}>
        <Text className={classes.code}>{accessKey}</Text>
        <Text size="sm" c="dimmed">
          {createdAt !== undefined && `${t.created} ${timeText(new Date(createdAt))}`}
          {isOwn && ` · ${t.own}`}
        </Text>
      </div>
      <StateBadges disabled={disabled} />
      <div className={classes.buttons}>
        {!isOwn && (
          <Button
            {...small}
            aria-label={disabled ? t.enable(accessKey) : t.disable(accessKey)}
            loading={change.isPending}
            onClick={() => change.mutate()}
          >
            {disabled ? t.words.enable : t.words.disable}
          </Button>
        )}
        <Button {...small} aria-label={t.rotate(accessKey)} onClick={() => setOpen('rotate')}>
          {t.words.rotate}
        </Button>
        {!isOwn && (
          <Button
            size="xs"
            color="red"
            variant="outline"
            aria-label={t.delete(accessKey)}
            onClick={() => setOpen('delete')}
          >
            {t.words.delete}
          </Button>
        )}
      </div>
      {change.error !== null && <Problem error={change.error} />}
      {open !== undefined && <KeyDialogs {...{ info, open, show }} close={() => setOpen(undefined)} />}
    </li>
  )
}

interface KeysSectionProps {
  readonly title: string
  readonly accountId: string
  readonly user?: string
  readonly note?: string
}

export function KeysSection({ title, accountId, user, note }: KeysSectionProps) {
  const { data, error, refetch } = useKeys(accountId, user)
  const [shown, setShown] = useState<Shown>()
  const creation = useIdentityChange({
    run: () => call('CreateKey', { accountId, user }),
    onDone: created => setShown({ created, replaces: undefined }),
  })
  return (
    <Section title={title}>
      {error !== null && <Problem error={error} retry={() => void refetch()} />}
      {creation.error !== null && <Problem error={creation.error} />}
      {note !== undefined && <Text size="sm">{note}</Text>}
      {data === undefined && error === null && <Skeleton height={60} aria-label={texts.loading} />}
      {data?.length === 0 && note === undefined && <Text>{t.none}</Text>}
      {data !== undefined && data.length > 0 && (
        <ul className={classes.rows}>
          {data.map(info => (
            <KeyRow key={info.accessKey} info={info} show={setShown} />
          ))}
        </ul>
      )}
      <Button
        variant="default"
        leftSection={<Icon name="plus" />}
        loading={creation.isPending}
        onClick={() => creation.mutate()}
      >
        {t.create}
      </Button>
      {shown !== undefined && <SecretDialog {...shown} close={() => setShown(undefined)} />}
    </Section>
  )
}
