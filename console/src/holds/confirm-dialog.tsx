/** Says what a change of a lock means before it is done. */
import { Button, Group, List, Stack } from '@mantine/core'
import type { ReactNode } from 'react'
import { Dialog } from '../parts/dialog.tsx'
import { Problem } from '../parts/problem.tsx'
import { texts } from '../texts/texts.ts'

interface ConfirmDialogProps {
  readonly title: string
  readonly meaning: readonly string[]
  readonly confirm: string
  readonly isDangerous?: boolean
  readonly isReady?: boolean
  readonly isPending: boolean
  readonly error: unknown
  readonly run: () => void
  readonly close: () => void
  readonly children?: ReactNode
}

export function ConfirmDialog(props: ConfirmDialogProps) {
  const { title, meaning, confirm, isDangerous = false, isReady = true, isPending, error, run, close, children } = props
  return (
    <Dialog title={title} close={close}>
      <Stack>
        {error !== null && <Problem error={error} />}
        {children}
        {meaning.length > 0 && (
          <List size="sm" spacing={6} role="list">
            {meaning.map(line => (
              <List.Item key={line}>{line}</List.Item>
            ))}
          </List>
        )}
        <Group justify="flex-end">
          <Button variant="default" onClick={close} data-autofocus>
            {texts.cancel}
          </Button>
          <Button {...(isDangerous ? { color: 'red' } : {})} disabled={!isReady} loading={isPending} onClick={run}>
            {confirm}
          </Button>
        </Group>
      </Stack>
    </Dialog>
  )
}
