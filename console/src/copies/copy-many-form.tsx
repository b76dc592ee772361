/** Where copies go, and what happens with names that exist there. */
import { Checkbox, Radio, Stack, Text, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useId } from 'react'
import type { Permission } from '../api/permissions.ts'
import { useBuckets } from '../api/use-buckets.ts'
import { readVersioning } from '../objects/buckets.ts'
import { copyManyTexts as t } from '../texts/copies.ts'
import type { CopyKind, Existing } from './copy-plan.ts'

export interface CopyTarget {
  readonly bucket: string
  readonly folder: string
  readonly existing: Existing
  readonly withAcl: boolean
}

const CHOICES = Object.keys(t.choices) as Existing[]

interface CopyManyFormProps {
  readonly kind: CopyKind
  readonly target: CopyTarget
  readonly change: (target: CopyTarget) => void
  readonly problem: string | undefined
  readonly acl: Permission
  /** ACLs do not apply in the bucket. */
  readonly isAclOff: boolean
}

/** A caller who may not read the setting still may write. */
function ReplaceText({ bucket }: { readonly bucket: string }) {
  const { data = 'unknown', isPending } = useQuery({
    queryKey: ['versioning', bucket],
    queryFn: () => readVersioning(bucket),
    retry: false,
  })
  return isPending ? null : <Text size="sm">{t.replaced[data]}</Text>
}

function AclChoice({ kind, target, change, acl, isAclOff }: CopyManyFormProps) {
  if (isAclOff) return <Text size="sm">{t.aclsOff}</Text>
  if (acl.isRefused) return <Text size="sm">{t.losesAcl(acl.reason ?? '')}</Text>
  if (kind === 'move') return <Text size="sm">{t.keepsAcl}</Text>
  return (
    <Checkbox
      label={t.withAcl}
      description={t.withAclHint}
      checked={target.withAcl}
      onChange={event => change({ ...target, withAcl: event.currentTarget.checked })}
    />
  )
}

export function CopyManyForm(props: CopyManyFormProps) {
  const { kind, target, change, problem } = props
  const { buckets } = useBuckets()
  const listId = useId()
  const isKnown = buckets.some(({ name }) => name === target.bucket)
  return (
    <>
      <TextInput
        label={t.bucket}
        list={listId}
        value={target.bucket}
        onChange={event => change({ ...target, bucket: event.currentTarget.value })}
      />
      <datalist id={listId}>
        {buckets.map(({ name }) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <TextInput
        label={t.folder}
        description={t.folderHint}
        error={problem}
        value={target.folder}
        onChange={event => change({ ...target, folder: event.currentTarget.value })}
        data-autofocus
      />
      <Radio.Group
        label={t.existing}
        value={target.existing}
        onChange={value => change({ ...target, existing: value as Existing })}
      >
        <Stack gap="xs" mt="xs">
          {CHOICES.map(choice => (
            <Radio key={choice} value={choice} label={t.choices[choice]} />
          ))}
        </Stack>
      </Radio.Group>
      {target.existing === 'replace' && isKnown && <ReplaceText bucket={target.bucket} />}
      {target.existing === 'replace' && !isKnown && <Text size="sm">{t.replaced.unknown}</Text>}
      {kind === 'move' && <Text size="sm">{t.moving}</Text>}
      <AclChoice {...props} />
    </>
  )
}
