/** The backup that the server takes itself: start under a name, progress, result, stop. */
import { Button, Group, Loader, Stack, Text, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import type { AdminApi } from '../api/admin-api.ts'
import { call } from '../api/client.ts'
import { bytesText, timeText, visibleText } from '../format.ts'
import { Dialog } from '../parts/dialog.tsx'
import { DialogButtons } from '../parts/dialog-buttons.tsx'
import { notify } from '../parts/notices.tsx'
import { Problem } from '../parts/problem.tsx'
import { navigate, toNewBackup, toServer, usePlace } from '../router.tsx'
import { integrityTexts } from '../texts/integrity.ts'
import classes from './damage-section.module.css'
import { timesText } from './round-times.ts'
import { StopButton } from './stop-button.tsx'
import { polledKey } from './use-polled.ts'

const t = integrityTexts.backup

type ServerBackup = AdminApi['GetServerBackup']['output']

interface StartProps {
  readonly folder: string
  /** Offered as the name. */
  readonly newest: string | undefined
  readonly close: () => void
}

function StartDialog({ folder, newest, close }: StartProps) {
  const [name, setName] = useState(newest ?? 'main')
  const queries = useQueryClient()
  const start = useMutation({
    mutationFn: () => call('StartServerBackup', { name }),
    onSuccess: () => {
      notify(t.started)
      close()
      return queries.invalidateQueries({ queryKey: polledKey('GetServerBackup') })
    },
  })
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    start.mutate()
  }
  return (
    <Dialog title={t.startTitle} close={close}>
      <form onSubmit={submit}>
        <Stack>
          <Text>{t.startText(visibleText(folder))}</Text>
          {start.error !== null && <Problem error={start.error} />}
          <TextInput
            label={t.name}
            description={t.nameHint}
            value={name}
            onChange={event => setName(event.currentTarget.value)}
            autoComplete="off"
            data-autofocus
          />
          <DialogButtons close={close}>
            <Button type="submit" disabled={name === ''} loading={start.isPending}>
              {t.start}
            </Button>
          </DialogButtons>
        </Stack>
      </form>
    </Dialog>
  )
}

function Progress({ backup }: { readonly backup: ServerBackup }) {
  const { state, error, name, phase, writtenBytes, blobs, damaged = 0 } = backup
  const isRunning = state === 'running'
  return (
    <>
      <Group gap="xs" role="status">
        {isRunning && <Loader size="xs" aria-label={t.working} />}
        <Text>
          <strong>{t.state[state]}</strong> {error !== undefined && visibleText(error)}
        </Text>
      </Group>
      {name !== undefined && (
        <Text>
          {t.written(name, bytesText(writtenBytes))} {isRunning && phase !== undefined && `(${t.phase[phase]})`}{' '}
          {timesText(backup)}
        </Text>
      )}
      {blobs !== undefined && (
        <Text>{t.result(blobs.count, bytesText(blobs.bytes), blobs.copied, bytesText(blobs.copiedBytes))}</Text>
      )}
      {damaged > 0 && <Text>{t.damaged(damaged)}</Text>}
    </>
  )
}

/** Nothing is asked when the operator has permitted no folder: the page then says which flag to set. */
export function ServerBackupPart({ backup }: { readonly backup: ServerBackup }) {
  const { folder, backups, state } = backup
  const isAsking = usePlace().query.get('start') === 'backup'
  if (folder === undefined) return <Text>{t.notPermitted}</Text>
  const newest = [...backups].sort((one, other) => other.newestAt.localeCompare(one.newestAt))[0]?.name
  return (
    <>
      <Text>{t.byServer(visibleText(folder))}</Text>
      <Progress backup={backup} />
      {backups.length > 0 && (
        <ul className={classes.objects} aria-label={t.existingLabel}>
          {backups.map(({ name, runs, newestAt }) => (
            <li key={name}>{t.existing(name, runs, timeText(new Date(newestAt)))}</li>
          ))}
        </ul>
      )}
      {state === 'running' ? (
        <StopButton route="StopServerBackup" shows="GetServerBackup" label={t.stop} />
      ) : (
        <Button variant="default" onClick={() => navigate(toNewBackup())}>
          {t.start}
        </Button>
      )}
      {isAsking && (
        <StartDialog folder={folder} newest={newest} close={() => navigate(toServer('integrity'), { replace: true })} />
      )}
    </>
  )
}
