/** Damage that is known, the objects that it affects, and what to do about it. */
import { List, Text, Title } from '@mantine/core'
import type { AdminApi } from '../api/admin-api.ts'
import { visibleText } from '../format.ts'
import { Section } from '../parts/section.tsx'
import { Link, toObject } from '../router.tsx'
import { serverTexts } from '../texts/server.ts'
import { CommandLine } from './command-line.tsx'
import { folderCommand, type Settings } from './commands.ts'
import classes from './damage-section.module.css'

const t = serverTexts.integrity

type Damage = AdminApi['GetDamage']['output']
type Finding = Damage['scrub']['damage'][number]

/** Of a damaged record only its place is known. */
const VERSIONS: Readonly<Record<string, string>> = {
  null: t.nullVersion,
  current: t.currentVersion,
  unknown: t.unknownVersion,
}

function Affected({ finding: { objects, parts } }: { readonly finding: Finding }) {
  if (objects.length + parts.length === 0) return <Text size="sm">{t.affectsNothing}</Text>
  return (
    <>
      {objects.length > 0 && <Text size="sm">{t.affects(objects.length)}</Text>}
      <ul className={classes.objects}>
        {objects.map(({ bucket, key, versionId }) => (
          <li key={`${bucket}/${key}/${versionId}`}>
            <Link href={toObject(bucket, key, { tab: 'versions' })}>{visibleText(`${bucket}/${key}`)}</Link>{' '}
            <Text span size="xs" c="dimmed">
              {VERSIONS[versionId] ?? t.version(versionId)}
            </Text>
          </li>
        ))}
        {parts.map(({ uploadId, number }) => (
          <li key={`${uploadId}/${number}`}>{t.part(number, uploadId)}</li>
        ))}
      </ul>
    </>
  )
}

export function FindingItem({ finding }: { readonly finding: Finding }) {
  const { what, id, message } = finding
  return (
    <li className={classes.finding}>
      <Text fw={600} className={classes.name}>
        {what === 'blob' ? t.blob(id) : t.record(id)}
      </Text>
      <Text size="sm">{visibleText(message)}</Text>
      <Affected finding={finding} />
    </li>
  )
}

function LostRecords({ damage, settings }: { readonly damage: Damage; readonly settings: Settings | undefined }) {
  const { lostRecords, lost, incompleteKinds } = damage
  if (lostRecords + incompleteKinds.length === 0) return undefined
  return (
    <>
      <Title order={3} size="h5">
        {t.lost}
      </Title>
      <Text>{t.lostText(lostRecords)}</Text>
      {settings !== undefined && <CommandLine label={t.rebuildCommand} command={folderCommand('rebuild', settings)} />}
      <ul className={classes.objects}>
        {lost.map(({ bucket, key, record }) => (
          <li key={`${bucket}/${key}/${record}`}>
            {bucket === undefined || key === undefined ? (
              t.record(record ?? '')
            ) : (
              <Link href={toObject(bucket, key)}>{visibleText(`${bucket}/${key}`)}</Link>
            )}
          </li>
        ))}
        {incompleteKinds.map(kind => (
          <li key={kind}>{t.lostKind(kind)}</li>
        ))}
      </ul>
    </>
  )
}

export function DamageSection({ damage, settings }: { readonly damage: Damage; readonly settings?: Settings }) {
  const { scrub, lostRecords, incompleteKinds } = damage
  const hasFindings = scrub.damage.length > 0
  const isWhole = !hasFindings && lostRecords + incompleteKinds.length === 0
  const unlisted = scrub.damaged - scrub.damage.length
  return (
    <Section title={t.damage}>
      {isWhole && (
        <>
          <Text>{t.noDamage}</Text>
          <Text size="sm" c="dimmed">
            {t.noDamageText}
          </Text>
        </>
      )}
      {hasFindings && (
        <>
          <ul className={classes.findings} aria-label={t.damage}>
            {scrub.damage.map(finding => (
              <FindingItem key={`${finding.what} ${finding.id}`} finding={finding} />
            ))}
          </ul>
          {unlisted > 0 && <Text>{t.more(unlisted)}</Text>}
          <Title order={3} size="h5">
            {t.whatToDo}
          </Title>
          <List size="sm">
            {t.steps.map(step => (
              <List.Item key={step}>{step}</List.Item>
            ))}
          </List>
        </>
      )}
      <LostRecords damage={damage} settings={settings} />
    </Section>
  )
}
