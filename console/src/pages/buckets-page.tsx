/** All buckets at a glance. */
import { Badge, Button, Group, Skeleton, Table, Text, TextInput, Tooltip } from '@mantine/core'
import { useState } from 'react'
import { usePermissions } from '../api/permissions.ts'
import { type Bucket, isPublic, useBuckets } from '../api/use-buckets.ts'
import { bytesText, countText, timeText } from '../format.ts'
import { EmptyState } from '../parts/empty-state.tsx'
import { GuardedButton } from '../parts/guarded-button.tsx'
import { Icon } from '../parts/icons.tsx'
import { PageHead } from '../parts/page-head.tsx'
import { Problem } from '../parts/problem.tsx'
import { Link, navigate, toBuckets, toFolder, usePlace } from '../router.tsx'
import { texts } from '../texts/texts.ts'
import { CreateBucket } from './create-bucket.tsx'
import classes from './page.module.css'

const t = texts.buckets

function BucketBadges({ bucket }: { readonly bucket: Bucket }) {
  return (
    <Group gap={6}>
      {isPublic(bucket) && (
        <Tooltip label={t.publicReason}>
          <Badge color="red" variant="filled" leftSection={<Icon name="alert" size={12} />} tabIndex={0}>
            {t.public}
          </Badge>
        </Tooltip>
      )}
      {bucket.versioning === 'on' && <Badge variant="outline">{t.versioningOn}</Badge>}
      {bucket.versioning === 'suspended' && <Badge variant="outline">{t.versioningSuspended}</Badge>}
      {bucket.lockEnabled && <Badge variant="outline">{t.locked}</Badge>}
      {bucket.encryption && <Badge variant="outline">{t.encrypted}</Badge>}
    </Group>
  )
}

function BucketRow({ bucket }: { readonly bucket: Bucket }) {
  const { name, usage, createdAt } = bucket
  return (
    <Table.Tr>
      <Table.Td>
        <Link href={toFolder(name)} className={classes.name}>
          {name}
        </Link>
      </Table.Td>
      <Table.Td className={classes.number}>{usage ? countText(usage.objects) : texts.unknown}</Table.Td>
      <Table.Td className={classes.number}>{usage ? bytesText(usage.bytes) : texts.unknown}</Table.Td>
      <Table.Td>
        <BucketBadges bucket={bucket} />
      </Table.Td>
      <Table.Td className={classes.wide}>{timeText(new Date(createdAt))}</Table.Td>
    </Table.Tr>
  )
}

function BucketTable({ buckets }: { readonly buckets: readonly Bucket[] }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling area must be reachable by keyboard.
    <section className={classes.table} tabIndex={0} aria-label={t.title}>
      <Table highlightOnHover verticalSpacing="sm">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t.name}</Table.Th>
            <Table.Th className={classes.number}>{t.objects}</Table.Th>
            <Table.Th className={classes.number}>{t.size}</Table.Th>
            <Table.Th>{t.properties}</Table.Th>
            <Table.Th className={classes.wide}>{t.created}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {buckets.map(bucket => (
            <BucketRow key={bucket.name} bucket={bucket} />
          ))}
        </Table.Tbody>
      </Table>
    </section>
  )
}

function CreateButton() {
  const { create } = usePermissions({ create: { action: 's3:CreateBucket', bucket: 'new-bucket' } })
  return (
    <GuardedButton
      permission={create}
      leftSection={<Icon name="plus" />}
      onClick={() => navigate(`${toBuckets()}?create=yes`)}
    >
      {t.create}
    </GuardedButton>
  )
}

export default function BucketsPage() {
  const { buckets, error, isPending, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useBuckets()
  const { query } = usePlace()
  const [filter, setFilter] = useState('')
  const found = buckets.filter(({ name }) => name.includes(filter.trim().toLowerCase()))
  const closeDialog = (): void => navigate(toBuckets(), { replace: true })
  return (
    <div className={classes.page}>
      <PageHead title={t.title}>{buckets.length > 0 && <CreateButton />}</PageHead>
      {error !== null && <Problem error={error} retry={() => void refetch()} />}
      {isPending && <Skeleton height={240} aria-label={texts.loading} />}
      {!isPending && error === null && buckets.length === 0 && (
        <EmptyState icon="bucket" title={t.emptyTitle} text={t.empty}>
          <CreateButton />
        </EmptyState>
      )}
      {buckets.length > 0 && (
        <>
          <TextInput
            aria-label={t.filter}
            placeholder={t.filter}
            leftSection={<Icon name="search" />}
            value={filter}
            onChange={event => setFilter(event.currentTarget.value)}
            maw={360}
          />
          {found.length === 0 ? <Text role="status">{t.noMatch(filter)}</Text> : <BucketTable buckets={found} />}
        </>
      )}
      {hasNextPage && (
        <Button variant="default" loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          {t.more}
        </Button>
      )}
      {query.get('create') === 'yes' && <CreateBucket close={closeDialog} />}
    </div>
  )
}
