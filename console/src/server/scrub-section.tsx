/** The check of everything that is stored, while the server serves. */
import { Button, Group, Loader, Stack, Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { AdminApi } from '../api/admin-api.ts'
import { call } from '../api/client.ts'
import { Dialog } from '../parts/dialog.tsx'
import { DialogButtons } from '../parts/dialog-buttons.tsx'
import { notify } from '../parts/notices.tsx'
import { Problem } from '../parts/problem.tsx'
import { Section } from '../parts/section.tsx'
import { navigate, toNewScrub, toServer, usePlace } from '../router.tsx'
import { serverTexts } from '../texts/server.ts'
import { timesText } from './round-times.ts'
import { polledKey } from './use-polled.ts'

const t = serverTexts.integrity

type Scrub = AdminApi['GetScrub']['output']

function StartDialog({ close }: { readonly close: () => void }) {
  const queries = useQueryClient()
  const start = useMutation({
    mutationFn: () => call('StartScrub', {}),
    onSuccess: () => {
      notify(t.started)
      close()
      return queries.invalidateQueries({ queryKey: polledKey('GetDamage') })
    },
  })
  return (
    <Dialog title={t.startTitle} close={close}>
      <Stack>
        <Text>{t.startText}</Text>
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

export function ScrubSection({ scrub }: { readonly scrub: Scrub }) {
  const isAsking = usePlace().query.get('start') === 'scrub'
  const { state, records, bytes, damaged, error } = scrub
  const isRunning = state === 'running'
  return (
    <Section title={t.scrub}>
      <Text size="sm" c="dimmed">
        {t.scrubText}
      </Text>
      <Group gap="xs" role="status">
        {isRunning && <Loader size="xs" aria-label={t.working} />}
        <Text>
          <strong>{t.state[state]}</strong> {error}
        </Text>
      </Group>
      {state !== 'never' && (
        <Text>
          {t.progress(records, bytes)}. {t.found(damaged)} {timesText(scrub)}
        </Text>
      )}
      <Button variant="default" disabled={isRunning} onClick={() => navigate(toNewScrub())}>
        {t.start}
      </Button>
      {isAsking && <StartDialog close={() => navigate(toServer('integrity'), { replace: true })} />}
    </Section>
  )
}
