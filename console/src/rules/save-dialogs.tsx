/** Warnings before a change that takes something away, or that cannot be undone. */
import { Button, Stack, Text } from '@mantine/core'
import type { UseMutationResult } from '@tanstack/react-query'
import type { Bucket } from '../api/use-buckets.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Problem } from '../parts/problem.tsx'
import { rulesTexts as t } from '../texts/rules.ts'
import type { RemovableKind } from './rule-kinds.ts'
import { readLock } from './small-documents.ts'
import type { XmlElement } from './xml-text.ts'

interface RemoveDialogProps {
  readonly kind: RemovableKind
  readonly removal: UseMutationResult<void, Error, RemovableKind>
  readonly close: () => void
}

export function RemoveDialog({ kind, removal, close }: RemoveDialogProps) {
  const { button, means } = t.removal[kind]
  return (
    <Dialog title={t.kinds[kind]} close={close}>
      <Stack>
        <Text>{means}</Text>
        {removal.error !== null && <Problem error={removal.error} />}
        <Button color="red" loading={removal.isPending} onClick={() => removal.mutate(kind)}>
          {button}
        </Button>
      </Stack>
    </Dialog>
  )
}

/** Turning Object Lock on is final, and so is what a default retention does to new versions. */
export const needsConfirmation = ({ lockEnabled }: Bucket, root: XmlElement | undefined): boolean =>
  root !== undefined && (lockEnabled !== true || readLock(root).form.mode !== '')

interface LockDialogProps {
  readonly bucket: Bucket
  readonly root: XmlElement | undefined
  readonly isSaving: boolean
  readonly save: () => void
  readonly close: () => void
}

export function LockDialog({ bucket, root, isSaving, save, close }: LockDialogProps) {
  if (root === undefined) return null
  const { form } = readLock(root)
  return (
    <Dialog title={t.lock.confirmTitle} close={close}>
      <Stack>
        {bucket.lockEnabled !== true && <Text>{t.lock.confirmOn}</Text>}
        {form.mode !== '' && <Text>{t.lock.confirmRetention(form)}</Text>}
        <Text>{t.lock.existing}</Text>
        <Button loading={isSaving} onClick={save}>
          {t.lock.confirm}
        </Button>
      </Stack>
    </Dialog>
  )
}
