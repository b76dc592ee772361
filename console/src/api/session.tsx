/** The signed-in caller. Pages are shown only with a session, and only the server decides whether there is one. */
import { QueryClient, useQuery } from '@tanstack/react-query'
import { createContext, useContext } from 'react'
import type { AdminApi } from './admin-api.ts'
import { call, sessionToken } from './client.ts'
import { ApiFailure } from './failure.ts'

export type Session = AdminApi['GetSession']['output']

const SESSION_KEY = ['session'] as const

const isWorthRetrying = (count: number, error: unknown): boolean =>
  count < 2 && error instanceof ApiFailure && error.isTemporary && error.status !== 429

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: { retry: isWorthRetrying, staleTime: 10_000, refetchOnWindowFocus: false },
    mutations: { retry: false },
  },
})

/** Null when nobody is signed in. */
export function useSessionQuery() {
  return useQuery({
    queryKey: SESSION_KEY,
    queryFn: async (): Promise<Session | null> => {
      if (sessionToken.get() === undefined) return null
      try {
        return await call('GetSession', {})
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
  queryClient.setQueryData<Session | null>(SESSION_KEY, session)
}

/** Nothing that the last person saw stays in memory. */
export function forgetSession(): void {
  sessionToken.clear()
  queryClient.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== SESSION_KEY[0] })
  queryClient.setQueryData<Session | null>(SESSION_KEY, null)
}

export async function signOut(): Promise<void> {
  await call('SignOut', {}).catch(() => {})
  forgetSession()
}

const SessionContext = createContext<Session | undefined>(undefined)
export const SessionProvider = SessionContext.Provider

export function useSession(): Session {
  const session = useContext(SessionContext)
  if (session === undefined) throw new Error('this part is shown outside of a session')
  return session
}
