/** The form that every visit begins with. The secret key goes to the server once and is not kept. */
import { Alert, Button, Paper, PasswordInput, Stack, Text, TextInput, Title } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { ApiFailure } from '../api/failure.ts'
import { signIn } from '../api/session.tsx'
import { Problem } from '../parts/problem.tsx'
import { texts } from '../texts/texts.ts'
import { OidcButton } from './oidc-button.tsx'
import classes from './sign-in-page.module.css'

const t = texts.signIn

function refusalOf(error: unknown): string | undefined {
  if (!(error instanceof ApiFailure)) return undefined
  if (error.status === 429) return t.wait(error.retryAfterSeconds ?? 60)
  return error.code === 'AccessDenied' ? t.refused : undefined
}

export function SignInPage({ hasEnded }: { readonly hasEnded: boolean }) {
  const [accessKey, setAccessKey] = useState('')
  const [secretKey, setSecretKey] = useState('')
  const attempt = useMutation({
    mutationFn: () => signIn(accessKey.trim(), secretKey.trim()),
    onSettled: () => setSecretKey(''),
  })
  const refusal = attempt.error === null ? undefined : refusalOf(attempt.error)
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    attempt.mutate()
  }
  return (
    <main className={classes.page}>
      <Paper className={classes.card} withBorder p="xl">
        <form onSubmit={submit}>
          <Stack>
            <img src="/favicon.svg" alt="" width={44} height={44} />
            <Title order={1} size="h3">
              {t.title}
            </Title>
            {hasEnded && attempt.error === null && (
              <Alert role="status" variant="outline">
                {t.ended}
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
              data-autofocus
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
    </main>
  )
}
