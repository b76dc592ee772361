/** Uploads to a bucket that an earlier page of this browser began: their files must be chosen again. */
import { Alert, Button, Group, Stack, Text } from '@mantine/core'
import { useSyncExternalStore } from 'react'
import { ApiFailure } from '../api/failure.ts'
import { useSession } from '../api/session.tsx'
import { bytesText, visibleText } from '../format.ts'
import { notifyError } from '../parts/notices.tsx'
import { unfinishedTexts as t } from '../texts/unfinished-uploads.ts'
import { type RememberedUpload, rememberedUploads } from './remembered-uploads.ts'
import { abortUpload } from './unfinished.ts'

const SHOWN_MAX = 5

async function discard(upload: RememberedUpload): Promise<void> {
  rememberedUploads.forget(upload.uploadId)
  try {
    await abortUpload(upload.bucket, upload)
  } catch (error) {
    // A rule of the bucket may have freed its parts before.
    const isGone = error instanceof ApiFailure && error.code === 'NoSuchUpload'
    if (!isGone) notifyError(error)
  }
}

export function InterruptedUploads({ bucket }: { readonly bucket: string }) {
  const { accessKey } = useSession()
  const all = useSyncExternalStore(rememberedUploads.subscribe, rememberedUploads.interrupted)
  const uploads = all.filter(one => one.bucket === bucket && one.accessKey === accessKey)
  if (uploads.length === 0) return null
  return (
    <Alert title={t.interruptedTitle(uploads.length)} variant="light">
      <Stack gap="xs">
        <Text size="sm">{t.interruptedText}</Text>
        {uploads.slice(0, SHOWN_MAX).map(upload => (
          <Group key={upload.uploadId} gap="sm" wrap="nowrap" justify="space-between">
            <Text size="sm" truncate title={visibleText(upload.key)}>
              {visibleText(upload.key)} · {bytesText(upload.size)}
            </Text>
            <Button
              size="xs"
              variant="default"
              aria-label={t.discardOf(visibleText(upload.key))}
              onClick={() => void discard(upload)}
            >
              {t.discard}
            </Button>
          </Group>
        ))}
      </Stack>
    </Alert>
  )
}
