/** The end of a dialog: a way back, and what it is about. */
import { Button, Group } from '@mantine/core'
import type { ReactNode } from 'react'
import { texts } from '../texts/texts.ts'

export function DialogButtons({ close, children }: { readonly close: () => void; readonly children: ReactNode }) {
  return (
    <Group justify="flex-end">
      <Button variant="default" onClick={close}>
        {texts.cancel}
      </Button>
      {children}
    </Group>
  )
}
