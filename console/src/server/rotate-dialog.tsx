/** Asks before a key is rotated. */
import { Button, List, Stack, Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { AdminApi } from '../api/admin-api.ts'
import { call } from '../api/client.ts'
import { visibleText } from '../format.ts'
import { Dialog } from '../parts/dialog.tsx'
import { DialogButtons } from '../parts/dialog-buttons.tsx'
import { notify } from '../parts/notices.tsx'
import { Problem } from '../parts/problem.tsx'
import { serverTexts } from '../texts/server.ts'
import { polledKey } from './use-polled.ts'

const t = serverTexts.encryption

export type Rotation = AdminApi['RotateEncryption']['input']

export function RotateDialog({ rotation, close }: { readonly rotation: Rotation; readonly close: () => void }) {
  const queries = useQueryClient()
  const { what, name } = rotation
  const shown = name === undefined ? t.what[what] : visibleText(name)
  const rotating = useMutation({
    mutationFn: () => call('RotateEncryption', rotation),
    onSuccess: ({ version }) => {
      notify(t.rotated(shown, version))
      close()
      return queries.invalidateQueries({ queryKey: polledKey('GetEncryption') })
    },
  })
  return (
    <Dialog
      title={name === undefined ? t.rotateTitle(t.what[what].toLowerCase()) : t.rotateNamedTitle(shown)}
      close={close}
    >
      <Stack>
        <List>
          {t.rotateText.map(text => (
            <List.Item key={text}>{text}</List.Item>
          ))}
        </List>
        <Text size="sm">{what === 'storage' ? t.rotateStorage : t.rotateRewrap}</Text>
        {rotating.error !== null && <Problem error={rotating.error} />}
        <DialogButtons close={close}>
          <Button loading={rotating.isPending} onClick={() => rotating.mutate()}>
            {t.rotate}
          </Button>
        </DialogButtons>
      </Stack>
    </Dialog>
  )
}
