/** The legal hold and the retention of the version that is shown. */
import { Button, Group, Skeleton, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Permission } from '../api/permissions.ts'
import { exactTimeText, visibleText } from '../format.ts'
import type { ObjectPlace } from '../objects/object-place.ts'
import { EmptyState } from '../parts/empty-state.tsx'
import { GuardedButton } from '../parts/guarded-button.tsx'
import { Problem } from '../parts/problem.tsx'
import { Section } from '../parts/section.tsx'
import { navigate, toObject } from '../router.tsx'
import { holdsTexts } from '../texts/holds.ts'
import { texts } from '../texts/texts.ts'
import { HoldDialog, LiftDialog } from './lock-dialogs.tsx'
import { lockFacts, type VersionLock } from './lock-requests.ts'
import { NoLock } from './no-lock.tsx'
import { RetentionDialog } from './retention-dialog.tsx'
import { useIsLockOff } from './use-is-lock-off.ts'

const t = holdsTexts

interface PartProps {
  readonly place: ObjectPlace
  readonly lock: VersionLock
  readonly permission: Permission
}

const sinceText = (since: VersionLock['heldSince'], text: (time: string, by: string) => string): string | undefined =>
  since === null ? undefined : text(exactTimeText(new Date(since.time)), visibleText(since.by))

function HoldState({ isHeld, heldSince }: VersionLock) {
  if (isHeld === undefined) return <Text>{t.hold.unknown}</Text>
  const since = isHeld ? sinceText(heldSince, t.hold.since) : undefined
  return (
    <>
      <Text>
        <strong>{isHeld ? t.hold.on : t.hold.off}</strong> {isHeld ? t.hold.onText : t.hold.offText}
      </Text>
      {since !== undefined && (
        <Text size="sm" c="dimmed">
          {since}
        </Text>
      )}
    </>
  )
}

function HoldPart({ place, lock, permission }: PartProps) {
  const [isOpen, setOpen] = useState(false)
  const isOn = lock.isHeld === true
  return (
    <Section title={t.hold.title}>
      <HoldState {...lock} />
      <GuardedButton permission={permission} {...(isOn ? { variant: 'default' } : {})} onClick={() => setOpen(true)}>
        {isOn ? t.hold.release : t.hold.put}
      </GuardedButton>
      {isOpen && (
        <HoldDialog {...{ place, isOn }} retention={lock.retention ?? undefined} close={() => setOpen(false)} />
      )}
    </Section>
  )
}

function RetentionState({ retention, retainedSince }: VersionLock) {
  if (retention === undefined) return <Text>{t.retention.unknown}</Text>
  if (retention === null) {
    return (
      <Text>
        <strong>{t.retention.none}</strong> {t.retention.noneText}
      </Text>
    )
  }
  const { mode, until } = retention
  const time = exactTimeText(until)
  if (until <= new Date()) return <Text>{t.retention.ended(time)}</Text>
  const since = sinceText(retainedSince, t.retention.since)
  return (
    <>
      <Text>
        <strong>{t.retention.until(t.retention.modes[mode], time)}</strong> {t.retention.means[mode]}
      </Text>
      {since !== undefined && (
        <Text size="sm" c="dimmed">
          {since}
        </Text>
      )}
    </>
  )
}

function RetentionPart({ place, lock, permission, bypass }: PartProps & { readonly bypass: Permission }) {
  const [dialog, setDialog] = useState<'set' | 'lift'>()
  const close = (): void => setDialog(undefined)
  const current = lock.retention && lock.retention.until > new Date() ? lock.retention : undefined
  const isGovernance = current?.mode === 'governance'
  const label = current === undefined ? t.retention.set : isGovernance ? t.retention.change : t.retention.extend
  return (
    <Section title={t.retention.title}>
      <RetentionState {...lock} />
      <Group gap="xs">
        <GuardedButton
          permission={permission}
          {...(current === undefined ? {} : { variant: 'default' })}
          onClick={() => setDialog('set')}
        >
          {label}
        </GuardedButton>
        {isGovernance && (
          <GuardedButton
            permission={permission.isRefused ? permission : bypass}
            variant="outline"
            color="red"
            onClick={() => setDialog('lift')}
          >
            {t.retention.lift}
          </GuardedButton>
        )}
      </Group>
      {dialog === 'set' && <RetentionDialog {...{ place, bypass, close, current }} />}
      {dialog === 'lift' && <LiftDialog place={place} isHeld={lock.isHeld === true} close={close} />}
    </Section>
  )
}

/** A bucket without Object Lock, or a version that cannot be held. */
function Unlockable({ place: { bucket, key } }: { readonly place: ObjectPlace }) {
  const isOff = useIsLockOff(bucket)
  if (isOff) return <NoLock bucket={bucket} />
  return (
    <EmptyState icon="lock" title={t.noVersion.title} text={t.noVersion.text}>
      <Button onClick={() => navigate(toObject(bucket, key, { tab: 'versions' }))}>{texts.object.showVersions}</Button>
    </EmptyState>
  )
}

export default function ObjectHolds({ place }: { readonly place: ObjectPlace }) {
  const { bucket, key, versionId } = place
  const { data, error, refetch } = useQuery({
    queryKey: ['lock', bucket, key, versionId],
    queryFn: ({ signal }) => lockFacts(place, signal),
    staleTime: 0,
  })
  if (error !== null) return <Problem error={error} retry={() => void refetch()} />
  if (data === undefined) return <Skeleton height={240} aria-label={texts.loading} />
  const { lock, hold, retain, bypass } = data
  if (lock === undefined) return <Unlockable place={place} />
  // The current version may become another one while the page is open; what was read is what is changed.
  const exact = { bucket, key, versionId: lock.versionId }
  return (
    <Stack>
      <HoldPart place={exact} lock={lock} permission={hold} />
      <RetentionPart place={exact} lock={lock} permission={retain} bypass={bypass} />
    </Stack>
  )
}
