/** Which buckets are open to everyone, and why. */
import { Badge, Button, Paper, Skeleton, Stack, Text } from '@mantine/core'
import { type Bucket, isPublic, useBuckets } from '../api/use-buckets.ts'
import pageClasses from '../pages/page.module.css'
import { EmptyState } from '../parts/empty-state.tsx'
import { Icon } from '../parts/icons.tsx'
import { PageHead } from '../parts/page-head.tsx'
import { Problem } from '../parts/problem.tsx'
import { Link, toBucketAccess } from '../router.tsx'
import { bucketAccessTexts as t } from '../texts/bucket-access.ts'
import { texts } from '../texts/texts.ts'
import classes from './access.module.css'
import { AccessTabs } from './access-tabs.tsx'
import { OpenReasons } from './bucket-access-page.tsx'

function OpenBucket({ bucket }: { readonly bucket: Bucket }) {
  return (
    <Paper component="li" withBorder p="md" className={classes.row}>
      <Stack gap={4} className={classes.what}>
        <Text fw={600}>{bucket.name}</Text>
        <OpenReasons bucket={bucket} />
      </Stack>
      <Badge color="red" variant="filled" leftSection={<Icon name="alert" size={12} />}>
        {t.public}
      </Badge>
      <Button
        size="xs"
        variant="default"
        component={Link}
        href={toBucketAccess(bucket.name)}
        aria-label={`${t.review}: ${bucket.name}`}
      >
        {t.review}
      </Button>
    </Paper>
  )
}

export function PublicPage() {
  const { buckets, error, isPending, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useBuckets()
  const open = buckets.filter(isPublic)
  const unknown = buckets.filter(bucket => bucket.public === undefined)
  return (
    <div className={pageClasses.page}>
      <PageHead title={t.publicTitle} />
      <AccessTabs />
      <Text>{t.publicLead}</Text>
      {error !== null && <Problem error={error} retry={() => void refetch()} />}
      {isPending && <Skeleton height={160} aria-label={texts.loading} />}
      {open.length > 0 && (
        <ul className={classes.cards} aria-label={t.publicTitle}>
          {open.map(bucket => (
            <OpenBucket key={bucket.name} bucket={bucket} />
          ))}
        </ul>
      )}
      {!isPending && error === null && open.length === 0 && (
        <EmptyState icon="key" title={t.publicNoneTitle} text={t.publicNone} />
      )}
      {!isPending && (
        <Text size="sm" c="dimmed" role="status">
          {t.checked(buckets.length - unknown.length)}
        </Text>
      )}
      {unknown.length > 0 && <Text size="sm">{t.publicUnknown(unknown.map(({ name }) => name).join(', '))}</Text>}
      {hasNextPage && (
        <Button variant="default" loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          {texts.buckets.more}
        </Button>
      )}
    </div>
  )
}
