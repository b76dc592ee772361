/** Brings stored objects under the newest keys. */
import { Button, Group, Loader, Text } from '@mantine/core'
import { Problem } from '../parts/problem.tsx'
import { Section } from '../parts/section.tsx'
import { serverTexts } from '../texts/server.ts'
import { startRewrap, stopRewrap, useRewrap } from './rewrap.ts'

const t = serverTexts.encryption

export function RewrapSection() {
  const { state, looked, rewrapped, left, error } = useRewrap()
  const isRunning = state === 'running'
  return (
    <Section title={t.rewrap}>
      <Text size="sm" c="dimmed">
        {t.rewrapText}
      </Text>
      <Group gap="xs" role="status">
        {isRunning && <Loader size="xs" aria-label={t.rewrapWorking} />}
        {isRunning && <Text>{t.rewrapRunning(looked, rewrapped)}</Text>}
        {state === 'done' && <Text fw={600}>{t.rewrapDone(looked, rewrapped)}</Text>}
        {state === 'stopped' && <Text>{t.rewrapStopped}</Text>}
        {left > 0 && <Text>{t.rewrapLeft(left)}</Text>}
      </Group>
      {state === 'failed' && <Problem error={error} />}
      {isRunning ? (
        <Button variant="default" onClick={stopRewrap}>
          {t.rewrapStop}
        </Button>
      ) : (
        <Button variant="default" onClick={() => void startRewrap()}>
          {t.rewrapStart}
        </Button>
      )}
    </Section>
  )
}
