/** Confirmations for the locks of one version: put on hold, release, lift retention. */
import { exactTimeText } from '../format.ts'
import type { ObjectPlace } from '../objects/object-place.ts'
import { holdsTexts } from '../texts/holds.ts'
import { ConfirmDialog } from './confirm-dialog.tsx'
import { putHold, putRetention } from './lock-requests.ts'
import type { Retention } from './retention-choice.ts'
import { useLockChange } from './use-lock-change.ts'

const t = holdsTexts

interface HoldDialogProps {
  readonly place: ObjectPlace
  readonly retention: Retention | undefined
  readonly isOn: boolean
  readonly close: () => void
}

/** Changes the hold to what it is not. */
export function HoldDialog({ place, retention, isOn, close }: HoldDialogProps) {
  const change = useLockChange(
    place.bucket,
    async () => {
      await putHold(place, !isOn)
      return isOn ? t.hold.wasReleased : t.hold.wasPut
    },
    close,
  )
  const isRetained = retention !== undefined && retention.until > new Date()
  const until = isRetained ? exactTimeText(retention.until) : undefined
  return (
    <ConfirmDialog
      title={isOn ? t.hold.releaseTitle : t.hold.putTitle}
      meaning={isOn ? t.hold.releaseMeaning(until) : t.hold.putMeaning}
      confirm={isOn ? t.hold.release : t.hold.put}
      isDangerous={isOn}
      isPending={change.isPending}
      error={change.error}
      run={() => change.mutate(undefined)}
      close={close}
    />
  )
}

interface LiftDialogProps {
  readonly place: ObjectPlace
  readonly isHeld: boolean
  readonly close: () => void
}

export function LiftDialog({ place, isHeld, close }: LiftDialogProps) {
  const change = useLockChange(
    place.bucket,
    async () => {
      await putRetention(place, undefined, { bypass: true })
      return t.retention.wasLifted
    },
    close,
  )
  return (
    <ConfirmDialog
      title={t.retention.liftTitle}
      meaning={t.retention.liftMeaning(isHeld)}
      confirm={t.retention.lift}
      isDangerous
      isPending={change.isPending}
      error={change.error}
      run={() => change.mutate(undefined)}
      close={close}
    />
  )
}
