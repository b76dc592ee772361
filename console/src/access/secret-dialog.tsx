/** A new key with its secret, which no later request can read. */
import { Alert, Button, CopyButton, Group, Stack, Text, TextInput } from '@mantine/core'
import { call } from '../api/client.ts'
import { useSession } from '../api/session.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Icon } from '../parts/icons.tsx'
import { Problem } from '../parts/problem.tsx'
import { accessTexts } from '../texts/access.ts'
import { texts } from '../texts/texts.ts'
import classes from './access.module.css'
import { type CreatedKey, useIdentityChange } from './identity-queries.ts'

const t = accessTexts.keys

function Shown({ label, copyLabel, value }: { label: string; copyLabel: string; value: string }) {
  return (
    <div className={classes.copied}>
      <TextInput
        label={label}
        value={value}
        readOnly
        onFocus={event => event.currentTarget.select()}
        classNames={{ root: classes.grow, input: classes.code }}
      />
      <CopyButton value={value}>
        {({ copied, copy }) => (
          <Button variant="default" onClick={copy} aria-label={copyLabel}>
            {copied ? texts.copied : texts.copy}
          </Button>
        )}
      </CopyButton>
    </div>
  )
}

function DownloadFile({ created }: { readonly created: CreatedKey }) {
  const { objectUrl, region } = useSession()
  const save = (): void => {
    const text = t.file(created.accessKey, created.secretKey, objectUrl, region)
    const url = URL.createObjectURL(new Blob([text], { type: 'text/plain' }))
    const link = document.createElement('a')
    link.href = url
    link.download = t.fileName(created.accessKey)
    link.click()
    URL.revokeObjectURL(url)
  }
  return (
    <Button leftSection={<Icon name="download" />} variant="default" onClick={save}>
      {t.download}
    </Button>
  )
}

/** After a rotation, the old key is one click away from being refused. */
function OldKey({ accessKey }: { readonly accessKey: string }) {
  const disabling = useIdentityChange({ run: () => call('ChangeKey', { accessKey, disabled: true }) })
  return (
    <Stack gap="xs" align="flex-start">
      {disabling.error !== null && <Problem error={disabling.error} />}
      <Text size="sm" role="status">
        {disabling.isSuccess ? t.oldIsOff(accessKey) : t.oldStays(accessKey)}
      </Text>
      {!disabling.isSuccess && (
        <Button variant="default" loading={disabling.isPending} onClick={() => disabling.mutate()}>
          {t.disableOld(accessKey)}
        </Button>
      )}
    </Stack>
  )
}

interface SecretDialogProps {
  readonly created: CreatedKey
  /** The access key that the new one replaces. */
  readonly replaces: string | undefined
  readonly close: () => void
}

export function SecretDialog({ created, replaces, close }: SecretDialogProps) {
  return (
    <Dialog title={t.secretTitle} close={close} size="lg" isFirm>
      <Stack>
        <Alert variant="outline" color="yellow.9" icon={<Icon name="alert" />}>
          {t.secretOnce}
        </Alert>
        <Shown label={t.accessKey} copyLabel={t.copyAccessKey} value={created.accessKey} />
        <Shown label={t.secretKey} copyLabel={t.copySecretKey} value={created.secretKey} />
        {replaces !== undefined && <OldKey accessKey={replaces} />}
        <Group justify="space-between">
          <DownloadFile created={created} />
          <Button onClick={close}>{t.done}</Button>
        </Group>
      </Stack>
    </Dialog>
  )
}
