/** The full check of a server that goes on serving: start, progress, findings, stop. */
import { Button, Checkbox, Group, Loader, Progress, Stack, Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { AdminApi } from '../api/admin-api.ts'
import { call } from '../api/client.ts'
import { visibleText } from '../format.ts'
import { Dialog } from '../parts/dialog.tsx'
import { DialogButtons } from '../parts/dialog-buttons.tsx'
import { notify } from '../parts/notices.tsx'
import { Problem } from '../parts/problem.tsx'
import { Section } from '../parts/section.tsx'
import { navigate, toNewFsck, toServer, usePlace } from '../router.tsx'
import { integrityTexts } from '../texts/integrity.ts'
import { serverTexts } from '../texts/server.ts'
import { CommandLine } from './command-line.tsx'
import { folderCommand, type Settings } from './commands.ts'
import classes from './damage-section.module.css'
import { FindingItem } from './damage-section.tsx'
import { timesText } from './round-times.ts'
import { StopButton } from './stop-button.tsx'
import { polledKey, usePolled } from './use-polled.ts'

const t = integrityTexts.fsck
const RUNNING_MS = 1000
const IDLE_MS = 10_000

type Fsck = AdminApi['GetFsck']['output']

function StartDialog({ close }: { readonly close: () => void }) {
  const [deep, setDeep] = useState(true)
  const queries = useQueryClient()
  const start = useMutation({
    mutationFn: () => call('StartFsck', { deep }),
    onSuccess: () => {
      notify(t.started)
      close()
      return queries.invalidateQueries({ queryKey: polledKey('GetFsck') })
    },
  })
  return (
    <Dialog title={t.startTitle} close={close}>
      <Stack>
        <Text>{t.startText}</Text>
        <Checkbox
          label={t.deep}
          description={t.deepHint}
          checked={deep}
          onChange={event => setDeep(event.currentTarget.checked)}
        />
        {start.error !== null && <Problem error={start.error} />}
        <DialogButtons close={close}>
          <Button loading={start.isPending} onClick={() => start.mutate()}>
            {t.start}
          </Button>
        </DialogButtons>
      </Stack>
    </Dialog>
  )
}

function Figures({ fsck }: { readonly fsck: Fsck }) {
  const { state, phase = 'records', deep, records, bytes, versions, blobs = 0, totalBytes = 0, held } = fsck
  const found = fsck.problemCount + fsck.damageCount
  return (
    <>
      {state === 'running' && <Text>{t.phase[phase]}</Text>}
      {state === 'running' && phase === 'bytes' && totalBytes > 0 && (
        <Progress w="100%" value={Math.min(100, (bytes / totalBytes) * 100)} aria-label={t.working} />
      )}
      <Text>
        {t.progress(records, bytes)} {t.problems(found)} {timesText(fsck)}
      </Text>
      {versions !== undefined && (
        <Text>
          {t.counted(versions, blobs, held)} {state === 'done' && deep === false && t.notRead}
        </Text>
      )}
    </>
  )
}

function Findings({ fsck }: { readonly fsck: Fsck }) {
  const { problems, problemCount, damage, damageCount } = fsck
  const unlisted = problemCount + damageCount - problems.length - damage.length
  if (problemCount + damageCount === 0) return undefined
  return (
    <>
      {damage.length > 0 && (
        <ul className={classes.findings} aria-label={t.damageLabel}>
          {damage.map(finding => (
            <FindingItem key={`${finding.what} ${finding.id}`} finding={finding} />
          ))}
        </ul>
      )}
      {problems.length > 0 && (
        <ul className={classes.objects} aria-label={t.problemsLabel}>
          {[...new Set(problems)].map(problem => (
            <li key={problem}>{visibleText(problem)}</li>
          ))}
        </ul>
      )}
      {unlisted > 0 && <Text>{serverTexts.integrity.more(unlisted)}</Text>}
      <Text size="sm">{t.whatToDo}</Text>
    </>
  )
}

export function FsckSection({ settings }: { readonly settings: Settings | undefined }) {
  const { data, error } = usePolled('GetFsck', latest => (latest?.state === 'running' ? RUNNING_MS : IDLE_MS))
  const isAsking = usePlace().query.get('start') === 'fsck'
  const isRunning = data?.state === 'running'
  return (
    <Section title={t.title}>
      <Text size="sm" c="dimmed">
        {t.text}
      </Text>
      {error !== null && <Problem error={error} />}
      {data !== undefined && (
        <Group gap="xs" role="status">
          {isRunning && <Loader size="xs" aria-label={t.working} />}
          <Text>
            <strong>{t.state[data.state]}</strong> {data.error !== undefined && visibleText(data.error)}
          </Text>
        </Group>
      )}
      {data !== undefined && data.state !== 'never' && <Figures fsck={data} />}
      {data !== undefined && <Findings fsck={data} />}
      {isRunning ? (
        <StopButton route="StopFsck" shows="GetFsck" label={t.stop} />
      ) : (
        <Button variant="default" disabled={data === undefined} onClick={() => navigate(toNewFsck())}>
          {t.start}
        </Button>
      )}
      {isAsking && <StartDialog close={() => navigate(toServer('integrity'), { replace: true })} />}
      {settings !== undefined && settings.memory !== true && (
        <>
          <Text size="sm" c="dimmed">
            {t.commandText}
          </Text>
          <CommandLine label={t.command} command={folderCommand('fsck', settings)} />
        </>
      )}
    </Section>
  )
}
