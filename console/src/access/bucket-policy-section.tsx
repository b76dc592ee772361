/** The policy of a bucket: what it means, its text, and its editor. */
import { Group, Skeleton, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { lazy, Suspense, useState } from 'react'
import type { Bucket } from '../api/use-buckets.ts'
import { ConfirmChangeDialog } from '../parts/confirm-change-dialog.tsx'
import { GuardedButton } from '../parts/guarded-button.tsx'
import { notify } from '../parts/notices.tsx'
import { Problem } from '../parts/problem.tsx'
import { Section } from '../parts/section.tsx'
import { bucketAccessTexts as t } from '../texts/bucket-access.ts'
import { texts } from '../texts/texts.ts'
import {
  ACCESS_ACTIONS,
  type AccessPermissions,
  deletePolicy,
  useBucketPolicy,
  useBucketsAgain,
  writePolicy,
} from './bucket-documents.ts'
import { NotReadable } from './not-readable.tsx'
import { PolicyWords } from './policy-editor.tsx'
import { PolicyForm, readablePolicy } from './policy-form.tsx'

const CodeEditor = lazy(() => import('../parts/code-editor.tsx'))

function Editing({ bucket, before, close }: { bucket: string; before: string; close: () => void }) {
  const readAgain = useBucketsAgain()
  const save = async (text: string): Promise<void> => {
    await writePolicy(bucket, text)
    await readAgain()
    notify(t.policySaved)
    close()
  }
  return <PolicyForm bucket={bucket} before={before} save={save} cancel={close} />
}

function Deletion({ bucket, close }: { readonly bucket: string; readonly close: () => void }) {
  const readAgain = useBucketsAgain()
  const deletion = useMutation({
    mutationFn: () => deletePolicy(bucket),
    onSuccess: async () => {
      await readAgain()
      notify(t.policyDeleted)
      close()
    },
  })
  return (
    <ConfirmChangeDialog
      title={t.deletePolicyTitle}
      text={t.deletePolicyText}
      confirm={t.deletePolicy}
      change={deletion}
      close={close}
    />
  )
}

interface BucketPolicyProps {
  readonly bucket: Bucket
  readonly permissions: AccessPermissions
}

export function BucketPolicySection({ bucket, permissions }: BucketPolicyProps) {
  const mayRead = !permissions.readPolicy.isRefused
  const { data: policy, error, refetch } = useBucketPolicy(bucket, mayRead)
  const [open, setOpen] = useState<'edit' | 'delete'>()
  const close = (): void => setOpen(undefined)
  return (
    <Section title={t.policy}>
      {!mayRead && <NotReadable bucket={bucket.name} action={ACCESS_ACTIONS.readPolicy} />}
      {error !== null && <Problem error={error} retry={() => void refetch()} />}
      {policy === null && open !== 'edit' && <Text>{t.noPolicy}</Text>}
      {typeof policy === 'string' && open !== 'edit' && (
        <>
          <PolicyWords text={policy} />
          <Suspense fallback={<Skeleton height={160} aria-label={texts.loading} />}>
            <CodeEditor label={t.policyLabel} language="json" value={readablePolicy(policy)} readOnly />
          </Suspense>
        </>
      )}
      {policy !== undefined && open !== 'edit' && (
        <Group>
          <GuardedButton permission={permissions.writePolicy} variant="default" onClick={() => setOpen('edit')}>
            {policy === null ? t.writePolicy : t.editPolicy}
          </GuardedButton>
          {policy !== null && (
            <GuardedButton
              permission={permissions.deletePolicy}
              color="red"
              variant="outline"
              onClick={() => setOpen('delete')}
            >
              {t.deletePolicy}
            </GuardedButton>
          )}
        </Group>
      )}
      {policy !== undefined && open === 'edit' && <Editing bucket={bucket.name} before={policy ?? ''} close={close} />}
      {open === 'delete' && <Deletion bucket={bucket.name} close={close} />}
    </Section>
  )
}
