/** Asks before a step that someone will notice. */
import { Button, Group, Stack, Text } from '@mantine/core'
import type { UseMutationResult } from '@tanstack/react-query'
import { texts } from '../texts/texts.ts'
import { Dialog } from './dialog.tsx'
import { Problem } from './problem.tsx'

interface ConfirmChangeDialogProps {
  readonly title: string
  readonly text: string
  readonly confirm: string
  readonly change: Pick<UseMutationResult<unknown, Error, void>, 'mutate' | 'isPending' | 'error'>
  readonly close: () => void
  readonly color?: string
}

export function ConfirmChangeDialog({ title, text, confirm, change, close, color = 'red' }: ConfirmChangeDialogProps) {
  return (
    <Dialog title={title} close={close}>
      <Stack>
        <Text>{text}</Text>
        {change.error !== null && <Problem error={change.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={close}>
            {texts.cancel}
          </Button>
          <Button color={color} loading={change.isPending} onClick={() => change.mutate()}>
            {confirm}
          </Button>
        </Group>
      </Stack>
    </Dialog>
  )
}
