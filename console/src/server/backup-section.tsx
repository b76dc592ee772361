/** The backup that is being taken, and how to take one. */
import { Text } from '@mantine/core'
import { bytesText, timeText } from '../format.ts'
import { Problem } from '../parts/problem.tsx'
import { Section } from '../parts/section.tsx'
import { serverTexts } from '../texts/server.ts'
import { CommandLine } from './command-line.tsx'
import { backupCommand } from './commands.ts'
import { usePolled } from './use-polled.ts'
import { durationText } from './values.ts'

const t = serverTexts.integrity
const RUNNING_MS = 1000
const IDLE_MS = 5000
/** A client that stores what it read is silent for a moment. */
const QUIET_SECONDS = 20

export function BackupSection() {
  const { data, error } = usePolled('GetBackup', latest => (latest?.running ? RUNNING_MS : IDLE_MS))
  const { running = false, phase = 'records', sentBytes = 0, takenAt, idleSeconds = 0 } = data ?? {}
  return (
    <Section title={t.backup}>
      <Text size="sm" c="dimmed">
        {t.backupText}
      </Text>
      {error !== null && <Problem error={error} />}
      {data !== undefined && (
        <Text role="status" fw={600}>
          {running ? t.backupRunning(t.backupPhase[phase], bytesText(sentBytes)) : t.backupIdle}
        </Text>
      )}
      {takenAt !== undefined && <Text>{t.backupAs(timeText(new Date(takenAt)))}</Text>}
      {idleSeconds >= QUIET_SECONDS && <Text>{t.backupQuiet(durationText(idleSeconds))}</Text>}
      <CommandLine label={t.backupCommand} command={backupCommand(window.location.origin)} />
    </Section>
  )
}
