/** The signed-in caller. Pages are shown only with a session, and only the server decides whether there is one. */
import { notifyManager, QueryClient, useQuery } from '@tanstack/react-query'
import { createContext, useContext } from 'react'
import { navigate } from '../router.tsx'
import { rememberedUploads } from '../uploads/remembered-uploads.ts'
import type { AdminApi } from './admin-api.ts'
import { call, sessionToken } from './client.ts'
import { ApiFailure } from './failure.ts'
import { personLeaves } from './leaving.ts'

export type Session = AdminApi['GetSession']['output']

const SESSION_KEY = ['session'] as const
/** Known to the issuer as the redirect URI. */
const RETURN_PATH = '/sign-in/return'
const WANTED_KEY = 'holdfast-wanted-page'

const isWorthRetrying = (count: number, error: unknown): boolean =>
  count < 2 && error instanceof ApiFailure && error.isTemporary && error.status !== 429

// A button shows that its work has begun before a second click can arrive.
notifyManager.setScheduler(queueMicrotask)

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: { retry: isWorthRetrying, staleTime: 10_000, refetchOnWindowFocus: false },
    mutations: { retry: false },
  },
})
// Nothing could fetch a draft again.
queryClient.setQueryDefaults(['rule-draft'], { gcTime: Number.POSITIVE_INFINITY })

let lastPerson: string | undefined

/** A session that ended by itself leaves its work to the same person, and to nobody else. */
function begin(session: Session): Session {
  const { account, user, person } = session
  const current = JSON.stringify([account.accountId, user, person])
  if (lastPerson !== undefined && lastPerson !== current) personLeaves()
  lastPerson = current
  return session
}

/** Null when nobody is signed in. */
export function useSessionQuery() {
  return useQuery({
    queryKey: SESSION_KEY,
    queryFn: async (): Promise<Session | null> => {
      if (sessionToken.get() === undefined) return null
      try {
        return begin(await call('GetSession', {}))
      } catch (error) {
        if (error instanceof ApiFailure && (error.status === 401 || error.status === 403)) return null
        throw error
      }
    },
    staleTime: Number.POSITIVE_INFINITY,
  })
}

export async function signIn(accessKey: string, secretKey: string): Promise<void> {
  sessionToken.clear()
  const { token, ...session } = await call('SignIn', { accessKey, secretKey })
  sessionToken.set(token)
  queryClient.setQueryData<Session | null>(SESSION_KEY, begin(session))
}

/** Leaves the page for the issuer of OpenID Connect, which sends the browser back to `RETURN_PATH`. */
export async function beginOidcSignIn(): Promise<void> {
  const { url } = await call('BeginOidcSignIn', {})
  window.sessionStorage.setItem(WANTED_KEY, window.location.pathname + window.location.search)
  window.location.assign(url)
}

/** The code and state in the issuer's redirect back to the console; undefined on every other page. */
export function returnedFromIssuer(): { readonly code: string; readonly state: string } | undefined {
  if (window.location.pathname !== RETURN_PATH) return undefined
  const query = new URLSearchParams(window.location.search)
  return { code: query.get('code') ?? '', state: query.get('state') ?? '' }
}

/** Ends on the page that was wanted before. Code and state leave the address, and so the history. */
export async function finishOidcSignIn(returned: { readonly code: string; readonly state: string }): Promise<void> {
  const wanted = window.sessionStorage.getItem(WANTED_KEY) ?? '/'
  window.sessionStorage.removeItem(WANTED_KEY)
  // Only a path of this origin is a page of the console.
  navigate(/^\/(?!\/)/.test(wanted) && !wanted.startsWith(RETURN_PATH) ? wanted : '/', { replace: true })
  sessionToken.clear()
  const { token, ...session } = await call('FinishOidcSignIn', returned)
  sessionToken.set(token)
  queryClient.setQueryData<Session | null>(SESSION_KEY, begin(session))
}

/** Nothing that the last person saw stays in memory. */
export function forgetSession(): void {
  sessionToken.clear()
  queryClient.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== SESSION_KEY[0] })
  queryClient.setQueryData<Session | null>(SESSION_KEY, null)
}

export async function signOut(): Promise<void> {
  await call('SignOut', {}).catch(() => {})
  rememberedUploads.clear()
  personLeaves()
  forgetSession()
}

const SessionContext = createContext<Session | undefined>(undefined)
export const SessionProvider = SessionContext.Provider

export function useSession(): Session {
  const session = useContext(SessionContext)
  if (session === undefined) throw new Error('this part is shown outside of a session')
  return session
}
