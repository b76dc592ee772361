/** The actions on the selected entries. */
import { Button, Paper, Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { lazy, Suspense, useState } from 'react'
import { usePermissions } from '../api/permissions.ts'
import { deleteAll, keysBelow } from '../objects/changes.ts'
import { chooseZipTarget, download, downloadZip } from '../objects/downloads.ts'
import type { DeletedEntry, Entry } from '../objects/listing.ts'
import { GuardedButton } from '../parts/guarded-button.tsx'
import { Icon } from '../parts/icons.tsx'
import { notify, notifyError } from '../parts/notices.tsx'
import { objectsText, texts } from '../texts/texts.ts'
import { CopyButtons } from './copy-buttons.tsx'
import { DeleteDialog } from './delete-dialog.tsx'
import classes from './selection-bar.module.css'

const ManyDialog = lazy(() => import('../holds/many-dialog.tsx'))
const t = texts.objects

interface SelectionBarProps {
  readonly place: { readonly bucket: string; readonly prefix: string }
  readonly chosen: readonly Entry[]
  readonly clear: () => void
}

function RestoreButton({ bucket, chosen, clear }: Omit<SelectionBarProps, 'place'> & { readonly bucket: string }) {
  const queries = useQueryClient()
  const deleted = chosen.filter((entry): entry is DeletedEntry => entry.kind === 'deleted')
  const restoring = useMutation({
    mutationFn: () =>
      deleteAll(
        bucket,
        deleted.map(({ key, markerId }) => ({ key, versionId: markerId })),
      ),
    onSuccess: ({ refused }) => {
      if (refused[0] !== undefined) notifyError(refused[0].message)
      notify(t.restored(deleted.length - refused.length))
      clear()
      return queries.invalidateQueries({ queryKey: ['listing', bucket] })
    },
    onError: notifyError,
  })
  return (
    <Button
      size="xs"
      leftSection={<Icon name="restore" size={15} />}
      disabled={deleted.length === 0}
      loading={restoring.isPending}
      onClick={() => restoring.mutate()}
    >
      {t.restore}
    </Button>
  )
}

function DownloadButton({ place: { bucket, prefix }, chosen }: Omit<SelectionBarProps, 'clear'>) {
  const [done, setDone] = useState(0)
  const [first] = chosen
  const isOne = chosen.length === 1 && first?.kind === 'object'
  const work = useMutation({
    mutationFn: async () => {
      if (isOne) return download({ bucket, key: first.key })
      const target = await chooseZipTarget(`${bucket}.zip`)
      const keys = await keysBelow(bucket, chosen, { signal: new AbortController().signal, onCount: () => {} })
      return downloadZip({ bucket, keys, prefix, target, onProgress: setDone })
    },
    onError: error => {
      const isDismissed = error instanceof DOMException && error.name === 'AbortError'
      if (!isDismissed) notifyError(error)
    },
  })
  return (
    <>
      <Button
        size="xs"
        variant="default"
        leftSection={<Icon name="download" size={15} />}
        loading={work.isPending}
        onClick={() => work.mutate()}
      >
        {isOne ? t.download : t.downloadZip}
      </Button>
      {work.isPending && !isOne && <Text role="status">{t.zipping(objectsText(done))}</Text>}
    </>
  )
}

function HoldButton({ bucket, chosen }: Omit<SelectionBarProps, 'place' | 'clear'> & { readonly bucket: string }) {
  const [isOpen, setOpen] = useState(false)
  const key = chosen[0]?.key ?? 'file'
  const { hold, retain } = usePermissions({
    hold: { action: 's3:PutObjectLegalHold', bucket, key },
    retain: { action: 's3:PutObjectRetention', bucket, key },
  })
  const keysOf = (kind: Entry['kind']): string[] => chosen.filter(entry => entry.kind === kind).map(entry => entry.key)
  return (
    <>
      <GuardedButton
        permission={hold.isRefused ? retain : hold}
        size="xs"
        variant="default"
        leftSection={<Icon name="lock" size={15} />}
        onClick={() => setOpen(true)}
      >
        {t.holdOrRetain}
      </GuardedButton>
      <Suspense>
        {isOpen && (
          <ManyDialog
            bucket={bucket}
            selection={{ keys: keysOf('object'), prefixes: keysOf('folder') }}
            close={() => setOpen(false)}
          />
        )}
      </Suspense>
    </>
  )
}

export function SelectionBar({ place, chosen, clear }: SelectionBarProps) {
  const { bucket } = place
  const [isDeleting, setDeleting] = useState(false)
  const { remove } = usePermissions({ remove: { action: 's3:DeleteObject', bucket, key: chosen[0]?.key ?? 'file' } })
  const isDeleted = chosen.some(({ kind }) => kind === 'deleted')
  return (
    <Paper className={classes.bar} withBorder>
      <Text fw={600} size="sm" role="status">
        {t.selected(chosen.length)}
      </Text>
      {isDeleted ? (
        <RestoreButton {...{ bucket, chosen, clear }} />
      ) : (
        <>
          <DownloadButton place={place} chosen={chosen} />
          <CopyButtons {...{ place, chosen, clear }} />
          <HoldButton bucket={bucket} chosen={chosen} />
          <GuardedButton
            permission={remove}
            size="xs"
            color="red"
            leftSection={<Icon name="trash" size={15} />}
            onClick={() => setDeleting(true)}
          >
            {t.delete}
          </GuardedButton>
        </>
      )}
      <Button size="xs" variant="subtle" onClick={clear}>
        {t.clearSelection}
      </Button>
      {isDeleting && <DeleteDialog bucket={bucket} entries={chosen} close={() => setDeleting(false)} onDone={clear} />}
    </Paper>
  )
}
