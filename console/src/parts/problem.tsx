/** An error: what happened, what to do, and what to quote when asking for help. */
import { Alert, Button, Code, Group, Stack, Text } from '@mantine/core'
import { texts } from '../texts/texts.ts'
import { failureText } from './failure-text.ts'
import { Icon } from './icons.tsx'
import classes from './problem.module.css'
import { RequestId } from './request-id.tsx'

interface ProblemProps {
  readonly error: unknown
  readonly retry?: () => void
}

export function Problem({ error, retry }: ProblemProps) {
  const { message, hint, code, requestId } = failureText(error)
  return (
    <Alert role="alert" color="red" variant="outline" icon={<Icon name="alert" />} title={texts.errors.title}>
      <Stack gap="xs" align="flex-start">
        <Text size="sm" className={classes.message}>
          {message}
        </Text>
        {hint !== undefined && <Text size="sm">{hint}</Text>}
        {code !== undefined && (
          <Group gap="md">
            <Text size="xs">
              {texts.errors.code} <Code>{code}</Code>
            </Text>
            {requestId !== undefined && <RequestId id={requestId} />}
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
