/** Whether what is stored is whole, and what protects it. */
import { Skeleton, Text } from '@mantine/core'
import { bytesText } from '../format.ts'
import { Problem } from '../parts/problem.tsx'
import { Section } from '../parts/section.tsx'
import { serverTexts } from '../texts/server.ts'
import { texts } from '../texts/texts.ts'
import { BackupSection } from './backup-section.tsx'
import { DamageSection } from './damage-section.tsx'
import { FsckSection } from './fsck-section.tsx'
import { ScrubSection } from './scrub-section.tsx'
import { usePolled } from './use-polled.ts'

const t = serverTexts.integrity
const RUNNING_MS = 1000
const IDLE_MS = 10_000
const SETTINGS_MS = 60_000

function MoveSection() {
  const { data } = usePolled('GetBlobsMove', latest => (latest?.state === 'moving' ? RUNNING_MS : SETTINGS_MS))
  if (data === undefined || data.state === 'never') return undefined
  const { state, from = '', to = '', blobs = 0, bytes = 0, damaged = 0 } = data
  const text = state === 'moving' ? t.moving : t.moved
  return (
    <Section title={t.move}>
      <Text role="status">
        {text(blobs, bytesText(bytes))} {state === 'moved' && t.moveDone}
      </Text>
      <Text size="sm">{t.places(from, to)}</Text>
      {damaged > 0 && <Text>{t.moveDamaged(damaged)}</Text>}
    </Section>
  )
}

export default function IntegrityPage() {
  const damage = usePolled('GetDamage', latest => (latest?.scrub.state === 'running' ? RUNNING_MS : IDLE_MS))
  const { data: settings } = usePolled('GetSettings', SETTINGS_MS)
  return (
    <>
      {damage.error !== null && <Problem error={damage.error} retry={() => void damage.refetch()} />}
      {damage.isPending && <Skeleton height={200} aria-label={texts.loading} />}
      {damage.data !== undefined && (
        <>
          <ScrubSection scrub={damage.data.scrub} />
          <DamageSection damage={damage.data} settings={settings?.settings} />
        </>
      )}
      <FsckSection settings={settings?.settings} />
      <BackupSection />
      <MoveSection />
    </>
  )
}
