/** The backup that is being taken, by the server or by a client, and how to take one. */
import { Text } from '@mantine/core'
import { bytesText, timeText } from '../format.ts'
import { Problem } from '../parts/problem.tsx'
import { Section } from '../parts/section.tsx'
import { integrityTexts } from '../texts/integrity.ts'
import { CommandLine } from './command-line.tsx'
import { backupCommand } from './commands.ts'
import { ServerBackupPart } from './server-backup.tsx'
import { usePolled } from './use-polled.ts'
import { durationText } from './values.ts'

const t = integrityTexts.backup
const RUNNING_MS = 1000
const IDLE_MS = 5000
/** A client that stores what it read is silent for a moment. */
const QUIET_SECONDS = 20

/** A backup that the server takes is shown by its own progress. */
function ClientBackup({ isByServer }: { readonly isByServer: boolean }) {
  const { data, error } = usePolled('GetBackup', latest => (latest?.running ? RUNNING_MS : IDLE_MS))
  const { running = false, phase = 'records', sentBytes = 0, takenAt, idleSeconds = 0 } = data ?? {}
  if (isByServer) return undefined
  return (
    <>
      {error !== null && <Problem error={error} />}
      {data !== undefined && (
        <Text role="status" fw={600}>
          {running ? t.running(t.phase[phase], bytesText(sentBytes)) : t.idle}
        </Text>
      )}
      {takenAt !== undefined && <Text>{t.as(timeText(new Date(takenAt)))}</Text>}
      {idleSeconds >= QUIET_SECONDS && <Text>{t.quiet(durationText(idleSeconds))}</Text>}
    </>
  )
}

export function BackupSection() {
  const { data, error } = usePolled('GetServerBackup', latest => (latest?.state === 'running' ? RUNNING_MS : IDLE_MS))
  return (
    <Section title={t.title}>
      <Text size="sm" c="dimmed">
        {t.text}
      </Text>
      <ClientBackup isByServer={data?.state === 'running'} />
      {error !== null && <Problem error={error} />}
      {data !== undefined && <ServerBackupPart backup={data} />}
      <CommandLine label={t.command} command={backupCommand(window.location.origin)} />
    </Section>
  )
}
