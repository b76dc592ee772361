/** Access to a bucket: policy, public access block, ownership and ACL. */
import { Alert, Anchor, Checkbox, List, Radio, Skeleton, Stack, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { type Bucket, isPublic, useBucket } from '../api/use-buckets.ts'
import { FolderPath } from '../pages/folder-path.tsx'
import pageClasses from '../pages/page.module.css'
import { BucketTabs } from '../parts/bucket-tabs.tsx'
import { EmptyState } from '../parts/empty-state.tsx'
import { GuardedButton } from '../parts/guarded-button.tsx'
import { Icon } from '../parts/icons.tsx'
import { notify } from '../parts/notices.tsx'
import { PageHead } from '../parts/page-head.tsx'
import { Problem } from '../parts/problem.tsx'
import { Section } from '../parts/section.tsx'
import { Link, toExplain } from '../router.tsx'
import { bucketAccessTexts as t } from '../texts/bucket-access.ts'
import { texts } from '../texts/texts.ts'
import { AclEditor } from './acl-editor.tsx'
import {
  ACCESS_ACTIONS,
  type AccessPermissions,
  BLOCKS,
  type Block,
  OWNERSHIPS,
  type Ownership,
  useAccessPermissions,
  useBlock,
  useBucketsAgain,
  useOwnership,
  writeBlock,
  writeOwnership,
} from './bucket-documents.ts'
import { BucketPolicySection } from './bucket-policy-section.tsx'
import { NotReadable } from './not-readable.tsx'

interface PartProps {
  readonly bucket: Bucket
  readonly permissions: AccessPermissions
}

export function OpenReasons({ bucket }: { readonly bucket: Bucket }) {
  return (
    <List size="sm">
      {bucket.public?.policy && <List.Item>{t.openByPolicy}</List.Item>}
      {bucket.public?.acl && <List.Item>{t.openByAcl}</List.Item>}
    </List>
  )
}

function Glance({ bucket }: { readonly bucket: Bucket }) {
  if (bucket.public === undefined) return null
  if (!isPublic(bucket)) {
    return (
      <Section title={t.glance}>
        <Text>{t.closed}</Text>
        <Text size="sm" c="dimmed">
          {t.objectsMayBeOpen}
        </Text>
      </Section>
    )
  }
  return (
    <Alert role="alert" color="red" variant="outline" icon={<Icon name="alert" />} title={t.openTitle}>
      <Stack gap="xs">
        <Text size="sm">{t.openText}</Text>
        <OpenReasons bucket={bucket} />
        <Text size="sm">{t.closeAll}</Text>
      </Stack>
    </Alert>
  )
}

const NOTHING: Block = {
  BlockPublicAcls: false,
  IgnorePublicAcls: false,
  BlockPublicPolicy: false,
  RestrictPublicBuckets: false,
}

function BlockForm({ bucket, block, permissions }: PartProps & { readonly block: Block }) {
  const [wanted, setWanted] = useState(block)
  const readAgain = useBucketsAgain()
  const saving = useMutation({
    mutationFn: () => writeBlock(bucket.name, wanted),
    onSuccess: async () => {
      await readAgain()
      notify(t.blockSaved)
    },
  })
  const isChanged = BLOCKS.some(name => wanted[name] !== block[name])
  return (
    <>
      {BLOCKS.map(name => (
        <Checkbox
          key={name}
          label={t.blocks[name][0]}
          description={t.blocks[name][1]}
          checked={wanted[name]}
          onChange={event => setWanted({ ...wanted, [name]: event.currentTarget.checked })}
        />
      ))}
      {saving.error !== null && <Problem error={saving.error} />}
      <GuardedButton
        permission={permissions.writeBlock}
        variant="default"
        disabled={!isChanged && !permissions.writeBlock.isRefused}
        loading={saving.isPending}
        onClick={() => saving.mutate()}
      >
        {t.saveBlock}
      </GuardedButton>
    </>
  )
}

function BlockSection({ bucket, permissions }: PartProps) {
  const mayRead = !permissions.readBlock.isRefused
  const { data, error, refetch } = useBlock(bucket, mayRead)
  return (
    <Section title={t.block}>
      <Text size="sm">{t.blockText}</Text>
      {!mayRead && <NotReadable bucket={bucket.name} action={ACCESS_ACTIONS.readBlock} />}
      {error !== null && <Problem error={error} retry={() => void refetch()} />}
      {data !== undefined && (
        <BlockForm key={JSON.stringify(data)} {...{ bucket, permissions }} block={data ?? NOTHING} />
      )}
    </Section>
  )
}

function OwnershipSection({ bucket, permissions }: PartProps) {
  const mayRead = !permissions.readOwnership.isRefused
  const { data, error, refetch } = useOwnership(bucket, mayRead)
  const [picked, setPicked] = useState<Ownership>()
  const readAgain = useBucketsAgain()
  const current = data ?? 'ObjectWriter'
  const wanted = picked ?? current
  const saving = useMutation({
    mutationFn: () => writeOwnership(bucket.name, wanted),
    onSuccess: async () => {
      await readAgain()
      notify(t.ownershipSaved)
    },
  })
  return (
    <Section title={t.ownership}>
      <Text size="sm">{t.ownershipText}</Text>
      {!mayRead && <NotReadable bucket={bucket.name} action={ACCESS_ACTIONS.readOwnership} />}
      {error !== null && <Problem error={error} retry={() => void refetch()} />}
      {data !== undefined && (
        <>
          <Radio.Group aria-label={t.ownership} value={wanted} onChange={value => setPicked(value as Ownership)}>
            <Stack gap="xs">
              {OWNERSHIPS.map(name => (
                <Radio key={name} value={name} label={t.ownerships[name][0]} description={t.ownerships[name][1]} />
              ))}
            </Stack>
          </Radio.Group>
          {saving.error !== null && <Problem error={saving.error} />}
          <GuardedButton
            permission={permissions.writeOwnership}
            variant="default"
            disabled={wanted === current && !permissions.writeOwnership.isRefused}
            loading={saving.isPending}
            onClick={() => saving.mutate()}
          >
            {t.saveOwnership}
          </GuardedButton>
        </>
      )}
    </Section>
  )
}

function AclSection({ bucket, permissions }: PartProps) {
  const { data: ownership } = useOwnership(bucket, !permissions.readOwnership.isRefused)
  const mayRead = !permissions.readAcl.isRefused
  return (
    <Section title={t.acl}>
      <Text size="sm">{ownership === 'BucketOwnerEnforced' ? t.aclOff : t.aclText}</Text>
      {!mayRead && <NotReadable bucket={bucket.name} action={ACCESS_ACTIONS.readAcl} />}
      {mayRead && ownership !== 'BucketOwnerEnforced' && (
        <AclEditor place={{ bucket: bucket.name }} permission={permissions.writeAcl} />
      )}
    </Section>
  )
}

export default function BucketAccessPage({ bucket: name }: { readonly bucket: string }) {
  const permissions = useAccessPermissions(name)
  const { data, error, refetch } = useBucket(name)
  return (
    <div className={pageClasses.page}>
      <PageHead title={t.title(name)} above={<FolderPath bucket={name} prefix="" />}>
        <Anchor component={Link} href={toExplain({ bucket: name })}>
          {t.explain}
        </Anchor>
      </PageHead>
      <BucketTabs bucket={name} />
      {error !== null && <Problem error={error} retry={() => void refetch()} />}
      {data === null && <EmptyState icon="bucket" title={t.noneTitle} text={t.none} />}
      {(data === undefined || permissions === undefined) && error === null && (
        <Skeleton height={300} aria-label={texts.loading} />
      )}
      {data && permissions !== undefined && (
        <>
          <Glance bucket={data} />
          <BucketPolicySection bucket={data} permissions={permissions} />
          <BlockSection bucket={data} permissions={permissions} />
          <OwnershipSection bucket={data} permissions={permissions} />
          <AclSection bucket={data} permissions={permissions} />
        </>
      )}
    </div>
  )
}
