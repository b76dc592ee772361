/** Sets, extends or changes the retention of one version. */
import { Text } from '@mantine/core'
import { useState } from 'react'
import type { Permission } from '../api/permissions.ts'
import { exactTimeText } from '../format.ts'
import type { ObjectPlace } from '../objects/object-place.ts'
import { holdsTexts } from '../texts/holds.ts'
import { ConfirmDialog } from './confirm-dialog.tsx'
import { putRetention } from './lock-requests.ts'
import { isWeaker, NO_CHOICE, type Retention, retentionOf } from './retention-choice.ts'
import { BypassField, RetentionFields } from './retention-fields.tsx'
import { useLockChange } from './use-lock-change.ts'

const t = holdsTexts.retention

interface RetentionDialogProps {
  readonly place: ObjectPlace
  /** In force now. */
  readonly current: Retention | undefined
  readonly bypass: Permission
  readonly close: () => void
}

export function RetentionDialog({ place, current, bypass, close }: RetentionDialogProps) {
  const [choice, setChoice] = useState({ ...NO_CHOICE, mode: current?.mode ?? 'governance' })
  const now = new Date()
  const wanted = retentionOf(choice, now)
  const weakened = wanted !== undefined && current !== undefined && isWeaker(wanted, current, now) ? current : undefined
  const change = useLockChange(
    place.bucket,
    async (retention: Retention) => {
      await putRetention(place, retention, { bypass: choice.bypass })
      return t.wasSet(exactTimeText(retention.until))
    },
    close,
  )
  return (
    <ConfirmDialog
      title={t.setTitle}
      meaning={wanted === undefined ? [] : t.meaning[wanted.mode](exactTimeText(wanted.until))}
      confirm={t.confirm}
      isDangerous={choice.mode === 'compliance'}
      isReady={wanted !== undefined && (weakened === undefined || (weakened.mode === 'governance' && choice.bypass))}
      isPending={change.isPending}
      error={change.error}
      run={() => wanted !== undefined && change.mutate(wanted)}
      close={close}
    >
      <RetentionFields choice={choice} setChoice={setChoice} />
      {current?.mode === 'governance' && (
        <BypassField isOn={choice.bypass} setOn={isOn => setChoice({ ...choice, bypass: isOn })} permission={bypass} />
      )}
      {choice.day !== '' && wanted === undefined && <Text role="alert">{t.dateNeeded}</Text>}
      {weakened !== undefined && !(weakened.mode === 'governance' && choice.bypass) && (
        <Text role="alert" size="sm">
          {(weakened.mode === 'governance' ? t.shorter : t.shorterCompliance)(exactTimeText(weakened.until))}
        </Text>
      )}
    </ConfirmDialog>
  )
}
