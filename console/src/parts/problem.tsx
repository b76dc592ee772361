/** An error: what happened, what to do, and what to quote when asking for help. */
import { Alert, Button, Code, Group, Stack, Text } from '@mantine/core'
import { ApiFailure } from '../api/failure.ts'
import { texts } from '../texts/texts.ts'
import { Icon } from './icons.tsx'
import classes from './problem.module.css'

interface ProblemProps {
  readonly error: unknown
  readonly retry?: () => void
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

export function Problem({ error, retry }: ProblemProps) {
  const failure = error instanceof ApiFailure ? error : undefined
  const hint = failure === undefined ? undefined : texts.errors.hints[failure.code]
  return (
    <Alert role="alert" color="red" variant="outline" icon={<Icon name="alert" />} title={texts.errors.title}>
      <Stack gap="xs" align="flex-start">
        <Text size="sm" className={classes.message}>
          {messageOf(error)}
        </Text>
        {hint !== undefined && <Text size="sm">{hint}</Text>}
        {failure !== undefined && (
          <Group gap="md">
            <Text size="xs">
              {texts.errors.code} <Code>{failure.code}</Code>
            </Text>
            {failure.requestId !== undefined && (
              <Text size="xs">
                {texts.errors.requestId} <Code>{failure.requestId}</Code>
              </Text>
            )}
          </Group>
        )}
        {retry !== undefined && (
          <Button size="xs" variant="default" onClick={retry}>
            {texts.retry}
          </Button>
        )}
      </Stack>
    </Alert>
  )
}
