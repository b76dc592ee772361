/** Stops long work of the server and shows its last state. */
import { Button } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { call } from '../api/client.ts'
import { Problem } from '../parts/problem.tsx'
import { polledKey } from './use-polled.ts'

interface StopButtonProps {
  readonly route: 'StopFsck' | 'StopServerBackup'
  /** The route whose answer shows the work. */
  readonly shows: 'GetFsck' | 'GetServerBackup'
  readonly label: string
}

export function StopButton({ route, shows, label }: StopButtonProps) {
  const queries = useQueryClient()
  const stop = useMutation({
    mutationFn: () => call(route, {}),
    onSuccess: () => queries.invalidateQueries({ queryKey: polledKey(shows) }),
  })
  return (
    <>
      {stop.error !== null && <Problem error={stop.error} />}
      <Button variant="default" loading={stop.isPending} onClick={() => stop.mutate()}>
        {label}
      </Button>
    </>
  )
}
