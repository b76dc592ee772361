/** The rules of a bucket: a list of all, and one of them to look at and edit. */
import { Alert, Badge, Skeleton, Text } from '@mantine/core'
import { type Bucket, useBucket } from '../api/use-buckets.ts'
import { FolderPath } from '../pages/folder-path.tsx'
import classes from '../pages/page.module.css'
import { BucketTabs } from '../parts/bucket-tabs.tsx'
import { EmptyState } from '../parts/empty-state.tsx'
import { Icon } from '../parts/icons.tsx'
import { PageHead } from '../parts/page-head.tsx'
import { Problem } from '../parts/problem.tsx'
import { Section } from '../parts/section.tsx'
import { Link, type RuleView, toRules } from '../router.tsx'
import { rulesTexts as t } from '../texts/rules.ts'
import { texts } from '../texts/texts.ts'
import { isSet, type RulePermissions, useRulePermissions } from './rule-documents.ts'
import { RuleEditor } from './rule-editor.tsx'
import { RULE_KINDS, type RuleKind } from './rule-kinds.ts'
import styles from './rules.module.css'
import { VersioningRule } from './versioning.tsx'

type Permissions = Readonly<Record<RuleKind, RulePermissions>>

interface State {
  readonly text: string
  readonly isOn: boolean
}

function stateOf(bucket: Bucket, kind: RuleKind): State {
  const { versioning, defaultRetention, encryption } = bucket
  if (kind === 'versioning') return { text: t.state[versioning ?? 'unknown'], isOn: versioning === 'on' }
  const isOn = isSet(bucket, kind)
  if (!isOn) return { text: kind === 'lock' ? t.state.off : t.state.none, isOn }
  if (kind === 'encryption') return { text: encryption?.algorithm ?? t.state.set, isOn }
  if (kind !== 'lock') return { text: t.state.set, isOn }
  const { days, mode } = (defaultRetention ?? {}) as { days?: number; mode?: string }
  return { text: days === undefined ? t.state.on : t.state.retained(days, mode ?? ''), isOn }
}

function Overview({ bucket, permissions }: { readonly bucket: Bucket; readonly permissions: Permissions }) {
  return (
    <ul className={styles.list}>
      {RULE_KINDS.map(kind => {
        const isRefused = permissions[kind].read.isRefused
        const { text, isOn } = isRefused ? { text: t.state.unknown, isOn: false } : stateOf(bucket, kind)
        return (
          <li key={kind}>
            <Link href={toRules(bucket.name, kind)} className={styles.kind}>
              <span className={styles.name}>{t.kinds[kind]}</span>
              <span className={styles.what}>{t.what[kind]}</span>
              <Badge className={styles.state} variant={isOn ? 'light' : 'default'}>
                {text}
              </Badge>
            </Link>
          </li>
        )
      })}
    </ul>
  )
}

interface OneRuleProps {
  readonly bucket: Bucket
  readonly kind: RuleKind
  readonly view: RuleView
  readonly permissions: RulePermissions
}

function OneRule({ bucket, kind, view, permissions }: OneRuleProps) {
  return (
    <>
      <nav aria-label={t.back}>
        <Link href={toRules(bucket.name)}>{t.all}</Link>
      </nav>
      <Section title={t.kinds[kind]}>
        <Text c="dimmed">{t.what[kind]}</Text>
        {permissions.read.isRefused ? (
          <Alert color="gray" variant="outline" icon={<Icon name="alert" />} title={t.refusedRead} role="note">
            <Text size="sm" className={styles.reason}>
              {permissions.read.reason}
            </Text>
          </Alert>
        ) : kind === 'versioning' ? (
          <VersioningRule bucket={bucket} permissions={permissions} />
        ) : (
          <RuleEditor key={`${bucket.name}/${kind}`} {...{ bucket, kind, view, permissions }} />
        )}
      </Section>
    </>
  )
}

interface RulesPageProps {
  readonly bucket: string
  /** Unknown kinds show the list. */
  readonly kind: string | null
  readonly view: RuleView
}

export default function RulesPage({ bucket: name, kind: wanted, view }: RulesPageProps) {
  const { data: bucket, error, isPending, refetch } = useBucket(name)
  const permissions = useRulePermissions(name)
  const kind = RULE_KINDS.find(one => one === wanted)
  return (
    <div className={classes.page}>
      <PageHead title={t.title(name)} above={<FolderPath bucket={name} prefix="" />} />
      <BucketTabs bucket={name} />
      {error !== null && <Problem error={error} retry={() => void refetch()} />}
      {permissions.error !== null && bucket !== null && (
        <Problem error={permissions.error} retry={() => void permissions.refetch()} />
      )}
      {(isPending || permissions.isPending) && <Skeleton height={300} aria-label={texts.loading} />}
      {bucket === null && <EmptyState icon="bucket" title={texts.settings.noneTitle} text={texts.settings.none} />}
      {bucket && permissions.data !== undefined && kind === undefined && (
        <Overview bucket={bucket} permissions={permissions.data} />
      )}
      {bucket && permissions.data !== undefined && kind !== undefined && (
        <OneRule {...{ bucket, kind, view }} permissions={permissions.data[kind]} />
      )}
    </div>
  )
}
