/** Copies or moves the selected entries. */
import { lazy, Suspense, useState } from 'react'
import { usePermissions } from '../api/permissions.ts'
import type { CopyKind } from '../copies/copy-plan.ts'
import type { FolderPlace } from '../copies/folder-place.ts'
import type { Entry } from '../objects/listing.ts'
import { GuardedButton } from '../parts/guarded-button.tsx'
import { copyManyTexts as t } from '../texts/copies.ts'

const CopyManyDialog = lazy(() => import('../copies/copy-many-dialog.tsx'))

interface CopyButtonsProps {
  readonly place: FolderPlace
  readonly chosen: readonly Entry[]
  readonly clear: () => void
}

export function CopyButtons({ place, chosen, clear }: CopyButtonsProps) {
  const [kind, setKind] = useState<CopyKind>()
  const target = { bucket: place.bucket, key: chosen[0]?.key ?? 'file' }
  const { read, remove } = usePermissions({
    read: { action: 's3:GetObject', ...target },
    remove: { action: 's3:DeleteObject', ...target },
  })
  return (
    <>
      <GuardedButton permission={read} size="xs" variant="default" onClick={() => setKind('copy')}>
        {t.open.copy}
      </GuardedButton>
      <GuardedButton
        permission={read.isRefused ? read : remove}
        size="xs"
        variant="default"
        onClick={() => setKind('move')}
      >
        {t.open.move}
      </GuardedButton>
      <Suspense>
        {kind !== undefined && (
          <CopyManyDialog {...{ kind, place }} entries={chosen} close={() => setKind(undefined)} onStart={clear} />
        )}
      </Suspense>
    </>
  )
}
