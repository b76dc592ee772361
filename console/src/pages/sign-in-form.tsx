/** Access key and secret key, or the issuer. The secret key goes to the server once and is not kept. */
import { Alert, Button, Paper, PasswordInput, Stack, Text, TextInput, Title } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { ApiFailure } from '../api/failure.ts'
import { signIn } from '../api/session.tsx'
import { Problem } from '../parts/problem.tsx'
import { texts } from '../texts/texts.ts'
import { OidcButton } from './oidc-button.tsx'
import classes from './sign-in.module.css'

const t = texts.signIn

function refusalOf(error: unknown): string | undefined {
  if (!(error instanceof ApiFailure)) return undefined
  if (error.status === 429) return t.wait(error.retryAfterSeconds ?? 60)
  return error.code === 'AccessDenied' ? t.refused : undefined
}

interface SignInFormProps {
  readonly title: string
  readonly titleId?: string
  /** Shown until something went wrong. */
  readonly notice?: string | undefined
  readonly knownKey?: string
}

export function SignInForm({ title, titleId, notice, knownKey = '' }: SignInFormProps) {
  const [accessKey, setAccessKey] = useState(knownKey)
  const [secretKey, setSecretKey] = useState('')
  const attempt = useMutation({
    mutationFn: () => signIn(accessKey.trim(), secretKey.trim()),
    onSettled: () => setSecretKey(''),
    networkMode: 'always',
  })
  const refusal = attempt.error === null ? undefined : refusalOf(attempt.error)
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    attempt.mutate()
  }
  return (
    <Paper className={classes.card} withBorder p="xl">
      <form onSubmit={submit}>
        <Stack>
          <img src="/favicon.svg" alt="" width={44} height={44} />
          <Title order={1} size="h3" id={titleId}>
            {title}
          </Title>
          {notice !== undefined && attempt.error === null && (
            <Alert role="status" variant="outline">
              {notice}
            </Alert>
          )}
          {refusal !== undefined && (
            <Alert role="alert" color="red" variant="outline">
              {refusal}
            </Alert>
          )}
          {attempt.error !== null && refusal === undefined && <Problem error={attempt.error} />}
          <TextInput
            label={t.accessKey}
            value={accessKey}
            onChange={event => setAccessKey(event.currentTarget.value)}
            autoComplete="username"
            autoCapitalize="none"
            spellCheck={false}
            required
          />
          <PasswordInput
            label={t.secretKey}
            value={secretKey}
            onChange={event => setSecretKey(event.currentTarget.value)}
            autoComplete="current-password"
            required
          />
          <Button type="submit" loading={attempt.isPending}>
            {t.submit}
          </Button>
          <OidcButton />
          <Text size="sm" c="dimmed">
            {t.where}
          </Text>
        </Stack>
      </form>
    </Paper>
  )
}
