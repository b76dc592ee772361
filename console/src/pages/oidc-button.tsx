/** Signing in with OpenID Connect, where the server has an issuer for it. */
import { Alert, Button, Divider, Text } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { call } from '../api/client.ts'
import { beginOidcSignIn, finishOidcSignIn, returnedFromIssuer } from '../api/session.tsx'
import { useSuspension } from '../api/suspension.ts'
import { visibleText } from '../format.ts'
import { Problem } from '../parts/problem.tsx'
import { texts } from '../texts/texts.ts'

const t = texts.signIn

export function OidcButton() {
  const { data } = useQuery({
    queryKey: ['sign-in-options'],
    queryFn: () => call('GetSignInOptions', {}),
    networkMode: 'always',
  })
  const isCover = useSuspension()
  const begin = useMutation({ mutationFn: beginOidcSignIn, networkMode: 'always' })
  const finish = useMutation({ mutationFn: finishOidcSignIn, networkMode: 'always' })
  const { mutate } = finish
  const isTaken = useRef(false)
  useEffect(() => {
    const returned = isTaken.current ? undefined : returnedFromIssuer()
    isTaken.current = true
    if (returned !== undefined) mutate(returned)
  }, [mutate])
  if (data?.oidc === undefined) return null
  const isRefused = finish.error instanceof Error && begin.error === null
  return (
    <>
      <Divider label={t.or} />
      {isRefused && (
        <Alert role="alert" color="red" variant="outline">
          {t.oidcRefused}
        </Alert>
      )}
      {isRefused && <Problem error={finish.error} />}
      {begin.error !== null && <Problem error={begin.error} />}
      <Button variant="default" loading={begin.isPending || finish.isPending} onClick={() => begin.mutate()}>
        {t.oidc(visibleText(data.oidc.name))}
      </Button>
      {isCover && <Text size="sm">{t.newTab}</Text>}
    </>
  )
}
