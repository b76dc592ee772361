/** Warnings before a change that takes something away, or that cannot be undone. */
import { Button, List, Stack, Text } from '@mantine/core'
import type { UseMutationResult } from '@tanstack/react-query'
import type { Bucket } from '../api/use-buckets.ts'
import { visibleText } from '../format.ts'
import { Dialog } from '../parts/dialog.tsx'
import { DialogButtons } from '../parts/dialog-buttons.tsx'
import { Problem } from '../parts/problem.tsx'
import { lifecycleSentences } from '../texts/lifecycle-sentences.ts'
import { rulesTexts as t } from '../texts/rules.ts'
import { readLifecycleRule } from './lifecycle-document.ts'
import type { DocumentKind, RemovableKind } from './rule-kinds.ts'
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
        <DialogButtons close={close}>
          <Button color="red" loading={removal.isPending} onClick={() => removal.mutate(kind)}>
            {button}
          </Button>
        </DialogButtons>
      </Stack>
    </Dialog>
  )
}

/** Rules that delete by themselves as soon as they are saved. */
const activeRules = (root: XmlElement) =>
  root.children.map(rule => readLifecycleRule(rule)).filter(({ form }) => form.isEnabled)

/** Turning Object Lock on is final, as is what a default retention or a lifecycle rule does. */
export function needsConfirmation({ lockEnabled }: Bucket, kind: DocumentKind, root: XmlElement | undefined): boolean {
  if (root === undefined) return false
  if (kind === 'lifecycle') return activeRules(root).length > 0
  return kind === 'lock' && (lockEnabled !== true || readLock(root).form.mode !== '')
}

interface SaveDialogProps {
  readonly bucket: Bucket
  readonly kind: DocumentKind
  readonly root: XmlElement | undefined
  readonly isSaving: boolean
  readonly save: () => void
  readonly close: () => void
}

function LockMeaning({ bucket, root }: { readonly bucket: Bucket; readonly root: XmlElement }) {
  const { form } = readLock(root)
  return (
    <>
      {bucket.lockEnabled !== true && <Text>{t.lock.confirmOn}</Text>}
      {form.mode !== '' && <Text>{t.lock.confirmRetention(form)}</Text>}
      <Text>{t.lock.existing}</Text>
    </>
  )
}

function LifecycleMeaning({ bucket, root }: { readonly bucket: Bucket; readonly root: XmlElement }) {
  const rules = activeRules(root)
  const deletes = rules.some(({ form: { expiry } }) => expiry === 'days' || expiry === 'date')
  const lines = rules.flatMap(({ form, unknown }, i) => [
    ...lifecycleSentences(form),
    ...(unknown.length > 0 ? [t.lifecycle.confirmOther(visibleText(form.id) || t.ruleNumber(i))] : []),
  ])
  return (
    <>
      <Text>{t.lifecycle.confirmText}</Text>
      <List>
        {[...new Set(lines)].map(line => (
          <List.Item key={line}>{line}</List.Item>
        ))}
      </List>
      {deletes && bucket.versioning !== undefined && <Text fw={600}>{t.lifecycle.expiryHint[bucket.versioning]}</Text>}
      <Text size="sm">{t.lifecycle.confirmLook}</Text>
    </>
  )
}

export function SaveDialog({ bucket, kind, root, isSaving, save, close }: SaveDialogProps) {
  if (root === undefined) return null
  const isLock = kind === 'lock'
  const { confirmTitle, confirm } = isLock ? t.lock : t.lifecycle
  return (
    <Dialog title={confirmTitle} close={close}>
      <Stack>
        {isLock ? <LockMeaning {...{ bucket, root }} /> : <LifecycleMeaning {...{ bucket, root }} />}
        <DialogButtons close={close}>
          <Button loading={isSaving} onClick={save} {...(isLock ? {} : { color: 'red' })}>
            {confirm}
          </Button>
        </DialogButtons>
      </Stack>
    </Dialog>
  )
}
