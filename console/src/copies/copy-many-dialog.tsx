/** Copies or moves a selection to another folder: counts it, says what it will mean, and starts it. */
import { Button, Group, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { type FormEvent, useMemo, useState } from 'react'
import { areAclsOff } from '../access/bucket-documents.ts'
import { type Permission, usePermissions } from '../api/permissions.ts'
import { BUCKETS_KEY } from '../api/use-buckets.ts'
import { useIsLockOff } from '../holds/use-is-lock-off.ts'
import { objectsBelow } from '../objects/changes.ts'
import type { Entry } from '../objects/listing.ts'
import { Dialog } from '../parts/dialog.tsx'
import { GuardedButton } from '../parts/guarded-button.tsx'
import { Problem } from '../parts/problem.tsx'
import { copyTexts, copyManyTexts as t } from '../texts/copies.ts'
import { texts } from '../texts/texts.ts'
import { copyJobs } from './copy-jobs.ts'
import { CopyManyForm, type CopyTarget } from './copy-many-form.tsx'
import type { CopyKind } from './copy-plan.ts'
import type { FolderPlace } from './folder-place.ts'
import { hasNamelessFolder, meetsSources } from './target-key.ts'
import { useAskedTarget } from './use-asked-target.ts'

interface CopyManyDialogProps {
  readonly kind: CopyKind
  /** The folder that the entries are in. */
  readonly place: FolderPlace
  readonly entries: readonly Entry[]
  readonly close: () => void
  readonly onStart: () => void
}

/** The objects are read anew for every dialog. */
function useCounted({ bucket }: FolderPlace, entries: readonly Entry[]) {
  const [counted, setCounted] = useState(0)
  const query = useQuery({
    queryKey: ['copied', bucket, entries.map(({ key }) => key)],
    queryFn: ({ signal }) => objectsBelow(bucket, entries, { signal, onCount: setCounted }),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  })
  return { ...query, counted }
}

/** Ends with a slash, since what is copied goes into it. */
const folderOf = (text: string): string => (text === '' || text.endsWith('/') ? text : `${text}/`)

function problemOf(from: FolderPlace, to: FolderPlace, entries: readonly Entry[]): string | undefined {
  if (hasNamelessFolder(to.prefix, from.prefix)) return copyTexts.namelessFolder
  if (from.bucket !== to.bucket) return undefined
  if (from.prefix === to.prefix) return t.same
  return entries.some(({ kind, key }) => kind === 'folder' && to.prefix.startsWith(key)) ? t.inside : undefined
}

interface Guards {
  /** The first refusal of what the work needs. */
  readonly work: Permission
  readonly acl: Permission
  readonly isAclOff: boolean
  /** Only of moves: the right to see holds and retention, which keep an object from being moved. */
  readonly locks: Permission | undefined
}

function useGuards({ kind, place, entries }: CopyManyDialogProps, to: FolderPlace): Guards {
  const source = { bucket: place.bucket, key: entries[0]?.key ?? 'file' }
  const asked = useAskedTarget(to)
  const target = { bucket: asked.bucket || place.bucket, key: `${asked.prefix}file` }
  const isLockOff = useIsLockOff(place.bucket)
  const { data: isAclOff = false } = useQuery({
    queryKey: [...BUCKETS_KEY, 'acls-off', target.bucket],
    queryFn: ({ signal }) => areAclsOff(target.bucket, signal),
  })
  const { read, write, remove, readAcl, writeAcl, hold, retention } = usePermissions({
    read: { action: 's3:GetObject', ...source },
    write: { action: 's3:PutObject', ...target },
    remove: { action: 's3:DeleteObject', ...source },
    readAcl: { action: 's3:GetObjectAcl', ...source },
    writeAcl: { action: 's3:PutObjectAcl', ...target },
    hold: { action: 's3:GetObjectLegalHold', ...source },
    retention: { action: 's3:GetObjectRetention', ...source },
  })
  const needed = kind === 'move' ? [read, write, remove] : [read, write]
  return {
    work: needed.find(({ isRefused }) => isRefused) ?? read,
    acl: readAcl.isRefused ? readAcl : writeAcl,
    isAclOff: isAclOff && asked.bucket === to.bucket,
    locks: kind === 'copy' || isLockOff ? undefined : hold.isRefused ? hold : retention,
  }
}

export default function CopyManyDialog(props: CopyManyDialogProps) {
  const { kind, place, entries, close, onStart } = props
  const { data: objects, error, counted } = useCounted(place, entries)
  const [target, setTarget] = useState<CopyTarget>({
    bucket: place.bucket,
    folder: place.prefix,
    existing: 'skip',
    withAcl: false,
  })
  const to = { bucket: target.bucket, prefix: folderOf(target.folder) }
  const isMeeting = useMemo(
    () => meetsSources({ from: place, to: { bucket: to.bucket, prefix: to.prefix } }, objects ?? []),
    [place, to.bucket, to.prefix, objects],
  )
  const isLosing = target.existing === 'replace' && isMeeting
  const problem = problemOf(place, to, entries) ?? (isLosing ? t.meeting : undefined)
  const guards = useGuards(props, to)
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    if (objects === undefined || problem !== undefined || to.bucket === '' || guards.work.isRefused) return
    const keepsAcl = !guards.acl.isRefused && !guards.isAclOff && (kind === 'move' || target.withAcl)
    copyJobs.start({ kind, from: place, to, objects, existing: target.existing, keepsAcl })
    onStart()
    close()
  }
  const bytes = (objects ?? []).reduce((sum, { size }) => sum + size, 0)
  return (
    <Dialog title={t.title(kind, entries.length)} close={close}>
      <form onSubmit={submit}>
        <Stack>
          {error !== null && <Problem error={error} />}
          {objects === undefined && error === null && <Text role="status">{t.counting(counted)}</Text>}
          {objects?.length === 0 && <Text role="status">{t.nothing}</Text>}
          <CopyManyForm {...{ kind, target, problem }} change={setTarget} acl={guards.acl} isAclOff={guards.isAclOff} />
          {guards.locks?.isRefused && <Text size="sm">{t.unseenLocks(guards.locks.reason ?? '')}</Text>}
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              {texts.cancel}
            </Button>
            <GuardedButton
              type="submit"
              permission={guards.work}
              disabled={!objects?.length || problem !== undefined || to.bucket === ''}
            >
              {t.submit(kind, objects?.length ?? counted, bytes)}
            </GuardedButton>
          </Group>
        </Stack>
      </form>
    </Dialog>
  )
}
