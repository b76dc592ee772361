/** The signed-in caller. Pages are shown only with a session, and only the server decides whether there is one. */
import { notifyManager, QueryClient, useQuery } from '@tanstack/react-query'
import { createContext, useContext } from 'react'
import { navigate } from '../router.tsx'
import { texts } from '../texts/texts.ts'
import { rememberedUploads } from '../uploads/remembered-uploads.ts'
import type { AdminApi } from './admin-api.ts'
import { call, sessionToken } from './client.ts'
import { ApiFailure } from './failure.ts'
import { personLeaves, personReturns } from './leaving.ts'
import { suspension } from './suspension.ts'

export type Session = AdminApi['GetSession']['output']

const SESSION_KEY = ['session'] as const
/** Known to the issuer as the redirect URI. */
const RETURN_PATH = '/sign-in/return'
const WANTED_KEY = 'holdfast-wanted-page'

/** Without a session a query waits for the next one, see `suspension.ts`. */
function isWorthRetrying(count: number, error: unknown): boolean {
  if (!(error instanceof ApiFailure)) return false
  return error.status === 401 || (count < 2 && error.isTemporary && error.status !== 429)
}

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

const personOf = ({ account, user, person }: Session): string => JSON.stringify([account.accountId, user, person])

/** A session that ended by itself leaves its work to the same person, and to nobody else. */
let lastPerson: string | undefined

function begin(session: Session): Session {
  const current = personOf(session)
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
    networkMode: 'always',
    refetchOnReconnect: false,
  })
}

const CHECK_MS = 60_000

/** Most pages send nothing by themselves: their session would end unseen, and what they show would stay in view. */
export function useSessionCheck(): void {
  useQuery({
    queryKey: ['session-check'],
    queryFn: async () => {
      await call('GetSession', {}, { isTimer: true })
      return null
    },
    initialData: null,
    staleTime: CHECK_MS,
    refetchInterval: CHECK_MS,
    refetchIntervalInBackground: true,
    refetchOnWindowFocus: 'always',
  })
}

const presentSession = (): Session | null | undefined => queryClient.getQueryData<Session | null>(SESSION_KEY)

/** Covers the pages, if there are any. */
export function endSession(): void {
  if (presentSession()) suspension.begin()
}

/** Goes on with the pages behind the cover, or drops everything that another person left there. */
function enter(session: Session): void {
  if (suspension.isOn() && personOf(session) !== lastPerson) {
    personLeaves()
    window.location.reload()
    return
  }
  queryClient.setQueryData<Session | null>(SESSION_KEY, begin(session))
  if (!suspension.isOn()) return
  suspension.end()
  personReturns()
  void queryClient.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== SESSION_KEY[0] })
}

/** Another tab signed in or out. Until it is known who that is, nothing is sent for the pages. */
export async function followOtherTab(isIn: boolean): Promise<void> {
  const isOpen = isIn && Boolean(presentSession())
  endSession()
  sessionToken.takeShared()
  const token = sessionToken.get()
  const session = isOpen ? await call('GetSession', {}).catch(() => undefined) : undefined
  // Somebody signed in after that: the answer is not about the session that the page has now.
  if (sessionToken.get() !== token) return
  if (session !== undefined && personOf(session) === lastPerson) return enter(session)
  // Work that is still under way would make the browser ask before it leaves the page.
  personLeaves()
  window.location.reload()
}

export async function signIn(accessKey: string, secretKey: string): Promise<void> {
  const { token, ...session } = await call('SignIn', { accessKey, secretKey })
  sessionToken.set(token)
  enter(session)
}

/**
 * Leaves the page for the issuer of OpenID Connect, which sends the browser back to `RETURN_PATH`. A page behind the
 * cover stays: the issuer gets a tab of its own, and this one hears of the session that begins there.
 */
export async function beginOidcSignIn(): Promise<void> {
  // A browser allows it only at once after the click.
  const tab = suspension.isOn() ? window.open('about:blank') : window
  if (tab === null) throw new Error(texts.signIn.noTab)
  try {
    const { url } = await call('BeginOidcSignIn', {})
    tab.sessionStorage.setItem(WANTED_KEY, window.location.pathname + window.location.search)
    tab.location.assign(url)
  } catch (error) {
    if (tab !== window) tab.close()
    throw error
  }
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
  const { token, ...session } = await call('FinishOidcSignIn', returned)
  sessionToken.set(token)
  enter(session)
}

/** Nothing that the last person saw stays in memory. */
export async function signOut(): Promise<void> {
  await call('SignOut', {}).catch(() => {})
  rememberedUploads.clear()
  personLeaves()
  sessionToken.clear()
  queryClient.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== SESSION_KEY[0] })
  queryClient.setQueryData<Session | null>(SESSION_KEY, null)
}

const SessionContext = createContext<Session | undefined>(undefined)
export const SessionProvider = SessionContext.Provider

export function useSession(): Session {
  const session = useContext(SessionContext)
  if (session === undefined) throw new Error('this part is shown outside of a session')
  return session
}
