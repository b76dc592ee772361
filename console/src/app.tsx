/** The sign-in form, or what is behind it. That is loaded apart, so that the form is there soon. */
import { Center } from '@mantine/core'
import { lazy, Suspense, useEffect, useState } from 'react'
import { sessionToken, whenAnotherTabSigns, whenSessionEnds } from './api/client.ts'
import { endSession, followOtherTab, useSessionQuery } from './api/session.tsx'
import { useSuspension } from './api/suspension.ts'
import { SignInCover } from './pages/sign-in-cover.tsx'
import { SignInPage } from './pages/sign-in-page.tsx'
import { Problem } from './parts/problem.tsx'
import { Waiting } from './parts/waiting.tsx'

const loadSignedIn = () => import('./signed-in.tsx')
const SignedIn = lazy(loadSignedIn)

// With a token there probably is a session: the pages need not wait for the answer.
if (sessionToken.get() !== undefined) void loadSignedIn()

/** Loads the pages while the form is filled in. */
function SignInFirst({ hasEnded }: { readonly hasEnded: boolean }) {
  useEffect(() => void loadSignedIn(), [])
  return <SignInPage hasEnded={hasEnded} />
}

export function App() {
  const { data: session, error, isPending, refetch } = useSessionQuery()
  const [hasEnded, setEnded] = useState(false)
  const isSuspended = useSuspension()
  useEffect(() => {
    whenSessionEnds(() => {
      setEnded(true)
      endSession()
    })
    return whenAnotherTabSigns(isIn => void followOtherTab(isIn))
  }, [])
  if (isPending) return <Waiting />
  if (error !== null && session === undefined) {
    return (
      <Center p="xl">
        <Problem error={error} retry={() => void refetch()} />
      </Center>
    )
  }
  if (session === null || session === undefined) return <SignInFirst hasEnded={hasEnded} />
  return (
    <>
      <Suspense fallback={<Waiting />}>
        <SignedIn session={session} />
      </Suspense>
      {isSuspended && <SignInCover session={session} />}
    </>
  )
}
