/** Keys that requests choose by their names. */
import { Button, Group, List, Stack, Text, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useEffect, useRef, useState } from 'react'
import type { AdminApi } from '../api/admin-api.ts'
import { call } from '../api/client.ts'
import { visibleText } from '../format.ts'
import { type Column, DataTable } from '../parts/data-table.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { DialogButtons } from '../parts/dialog-buttons.tsx'
import { Icon } from '../parts/icons.tsx'
import { notify, notifyError } from '../parts/notices.tsx'
import { Problem } from '../parts/problem.tsx'
import { Section } from '../parts/section.tsx'
import { serverTexts } from '../texts/server.ts'
import type { Rotation } from './rotate-dialog.tsx'
import { polledKey } from './use-polled.ts'

const t = serverTexts.encryption

type NamedKey = AdminApi['GetEncryption']['output']['keys'][number]

const useRenewal = () => {
  const queries = useQueryClient()
  return () => queries.invalidateQueries({ queryKey: polledKey('GetEncryption') })
}

function CreateDialog({ close }: { readonly close: () => void }) {
  const [name, setName] = useState('')
  const renew = useRenewal()
  const creation = useMutation({
    mutationFn: () => call('CreateEncryptionKey', { name }),
    onSuccess: () => {
      notify(t.created(visibleText(name)))
      close()
      return renew()
    },
  })
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    creation.mutate()
  }
  return (
    <Dialog title={t.createTitle} close={close}>
      <form onSubmit={submit}>
        <Stack>
          {creation.error !== null && <Problem error={creation.error} />}
          <TextInput
            label={t.name}
            description={t.nameHint}
            value={name}
            onChange={event => setName(event.currentTarget.value)}
            autoComplete="off"
            data-autofocus
          />
          <DialogButtons close={close}>
            <Button type="submit" disabled={name === ''} loading={creation.isPending}>
              {t.createSubmit}
            </Button>
          </DialogButtons>
        </Stack>
      </form>
    </Dialog>
  )
}

/** The server answers before it has looked at all versions; asking again waits for more of them. */
async function disableKey(name: string, onProgress: (checked: number) => void): Promise<void> {
  for (;;) {
    const { checking } = await call('ChangeEncryptionKey', { name, disabled: true })
    if (checking === undefined) return
    onProgress(checking)
  }
}

/** The work goes on when the dialog is closed, and a notice tells its end. */
function DisableDialog({ name, close }: { readonly name: string; readonly close: () => void }) {
  const renew = useRenewal()
  const shown = visibleText(name)
  const [checked, setChecked] = useState<number>()
  const isOpen = useRef(false)
  useEffect(() => {
    isOpen.current = true
    return () => {
      isOpen.current = false
    }
  }, [])
  const disabling = useMutation({
    mutationFn: () => disableKey(name, setChecked),
    onSuccess: () => {
      notify(t.disabledNow(shown))
      if (isOpen.current) close()
    },
    onError: error => {
      setChecked(undefined)
      if (!isOpen.current) notifyError(error)
    },
    onSettled: renew,
  })
  return (
    <Dialog title={t.disableTitle(shown)} close={close}>
      <Stack>
        <List>
          {t.disableText.map(text => (
            <List.Item key={text}>{text}</List.Item>
          ))}
        </List>
        {checked !== undefined && <Text role="status">{t.disabling(checked)}</Text>}
        {disabling.error !== null && <Problem error={disabling.error} />}
        <DialogButtons close={close}>
          <Button color="red" loading={disabling.isPending} onClick={() => disabling.mutate()}>
            {t.disable}
          </Button>
        </DialogButtons>
      </Stack>
    </Dialog>
  )
}

interface KeyActionsProps {
  readonly named: NamedKey
  readonly rotate: (rotation: Rotation) => void
  readonly disable: (name: string) => void
}

function KeyActions({ named: { name, disabled, checking }, rotate, disable }: KeyActionsProps) {
  const renew = useRenewal()
  const shown = visibleText(name)
  const enabling = useMutation({
    mutationFn: () => call('ChangeEncryptionKey', { name, disabled: false }),
    onSuccess: () => notify(t.enabledNow(shown)),
    onError: notifyError,
    onSettled: renew,
  })
  const common = { size: 'xs', variant: 'default' } as const
  return (
    <Group gap="xs">
      <Button {...common} aria-label={t.rotateKey(shown)} onClick={() => rotate({ what: 'named', name })}>
        {t.rotate}
      </Button>
      {!disabled && (
        <Button {...common} aria-label={t.disableKey(shown)} onClick={() => disable(name)}>
          {t.disable}
        </Button>
      )}
      {(disabled || checking !== undefined) && (
        <Button
          {...common}
          aria-label={t.enableKey(shown)}
          loading={enabling.isPending}
          onClick={() => enabling.mutate()}
        >
          {t.enable}
        </Button>
      )}
    </Group>
  )
}

const COLUMNS: readonly Column[] = [
  { title: t.name },
  { title: t.version, isNumber: true },
  { title: t.state },
  { title: t.actions },
]

function stateText({ disabled, checking }: NamedKey): string {
  if (checking !== undefined) return t.checking(checking)
  return disabled ? t.disabled : t.enabled
}

interface NamedKeysProps {
  readonly keys: readonly NamedKey[]
  readonly rotate: (rotation: Rotation) => void
}

export function NamedKeys({ keys, rotate }: NamedKeysProps) {
  const [isCreating, setCreating] = useState(false)
  const [disabled, setDisabled] = useState<string>()
  return (
    <Section title={t.named}>
      <Text size="sm" c="dimmed">
        {t.namedText}
      </Text>
      {keys.length === 0 ? (
        <Text>{t.noNamed}</Text>
      ) : (
        <DataTable
          label={t.named}
          columns={COLUMNS}
          rows={keys.map(named => ({
            id: named.name,
            cells: [
              visibleText(named.name),
              String(named.version),
              stateText(named),
              <KeyActions key="actions" named={named} rotate={rotate} disable={setDisabled} />,
            ],
          }))}
        />
      )}
      <Button variant="default" leftSection={<Icon name="plus" />} onClick={() => setCreating(true)}>
        {t.create}
      </Button>
      {isCreating && <CreateDialog close={() => setCreating(false)} />}
      {disabled !== undefined && <DisableDialog name={disabled} close={() => setDisabled(undefined)} />}
    </Section>
  )
}
