/** Whether a bucket keeps versions. The document has nothing but that, so there is no form beside it. */
import { Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { BUCKETS_KEY, type Bucket } from '../api/use-buckets.ts'
import { setVersioning } from '../objects/buckets.ts'
import { GuardedButton } from '../parts/guarded-button.tsx'
import { notify } from '../parts/notices.tsx'
import { Problem } from '../parts/problem.tsx'
import { versioningTexts as t } from '../texts/rules.ts'
import type { RulePermissions } from './rule-documents.ts'

interface VersioningRuleProps {
  readonly bucket: Bucket
  readonly permissions: RulePermissions
}

export function VersioningRule({ bucket, permissions }: VersioningRuleProps) {
  const queries = useQueryClient()
  const isOn = bucket.versioning === 'on'
  const mutation = useMutation({
    mutationFn: () => setVersioning(bucket.name, isOn ? 'Suspended' : 'Enabled'),
    onSuccess: () => {
      notify(t.changed)
      return queries.invalidateQueries({ queryKey: BUCKETS_KEY })
    },
  })
  const state = bucket.versioning
  return (
    <>
      {state !== undefined && (
        <Text>
          <strong>{t.state[state]}.</strong> {t.text[state]}
        </Text>
      )}
      {mutation.error !== null && <Problem error={mutation.error} />}
      {bucket.lockEnabled ? (
        <Text size="sm">{t.lockKeepsOn}</Text>
      ) : (
        <>
          {isOn && <Text size="sm">{t.suspendWhat}</Text>}
          <GuardedButton
            permission={permissions.write}
            variant="default"
            loading={mutation.isPending}
            onClick={() => mutation.mutate()}
          >
            {isOn ? t.suspend : t.turnOn}
          </GuardedButton>
        </>
      )}
    </>
  )
}
