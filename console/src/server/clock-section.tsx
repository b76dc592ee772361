/** The clock that locks end by. */
import { Button, Stack, Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../api/client.ts'
import { exactTimeText } from '../format.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Facts } from '../parts/facts.tsx'
import { notify } from '../parts/notices.tsx'
import { Problem } from '../parts/problem.tsx'
import { serverTexts } from '../texts/server.ts'
import { polledKey, usePolled } from './use-polled.ts'

const t = serverTexts.configuration
const EVERY_MS = 10_000

function ConfirmDialog({ clock, close }: { readonly clock: string; readonly close: () => void }) {
  const queries = useQueryClient()
  const confirmation = useMutation({
    mutationFn: () => call('ConfirmClock', {}),
    onSuccess: () => {
      notify(t.confirmed)
      close()
      return queries.invalidateQueries({ queryKey: polledKey('GetClock') })
    },
  })
  return (
    <Dialog title={t.confirmTitle} close={close}>
      <Stack>
        <Text>{t.confirmText(exactTimeText(new Date(clock)))}</Text>
        {confirmation.error !== null && <Problem error={confirmation.error} />}
        <Button color="red" loading={confirmation.isPending} onClick={() => confirmation.mutate()}>
          {t.confirm}
        </Button>
      </Stack>
    </Dialog>
  )
}

export function ClockSection() {
  const { data, error } = usePolled('GetClock', EVERY_MS)
  const [isAsking, setAsking] = useState(false)
  if (error !== null) return <Problem error={error} />
  if (data === undefined) return undefined
  const { clock, lockTime, jumped } = data
  const rows = [
    [t.clockNow, exactTimeText(new Date(clock))],
    [t.lockTime, exactTimeText(new Date(lockTime))],
  ] as const
  return (
    <Facts title={t.clock} rows={rows}>
      <Text size="sm" fw={jumped ? 600 : 400} my="xs">
        {jumped ? t.clockJumped : t.clockRight}
      </Text>
      {jumped && (
        <Button variant="default" onClick={() => setAsking(true)}>
          {t.confirm}
        </Button>
      )}
      {isAsking && <ConfirmDialog clock={clock} close={() => setAsking(false)} />}
    </Facts>
  )
}
