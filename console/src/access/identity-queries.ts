/** Accounts, users and keys, as administrators read and change them. */
import { queryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type { AdminApi } from '../api/admin-api.ts'
import { call } from '../api/client.ts'
import { notify } from '../parts/notices.tsx'

export type AccountInfo = AdminApi['GetAccount']['output']
export type UserInfo = AdminApi['GetUser']['output']
export type KeyInfo = AdminApi['GetKey']['output']
export type CreatedKey = AdminApi['CreateKey']['output']

/** Of everything below; accounts, users and keys depend on one another. */
export const IDENTITY_KEY = ['accounts'] as const

export const useAccounts = (isWanted = true) =>
  useQuery({
    queryKey: IDENTITY_KEY,
    queryFn: ({ signal }) => call('ListAccounts', {}, { signal }),
    enabled: isWanted,
  })

export const useAccount = (accountId: string) =>
  useQuery({
    queryKey: [...IDENTITY_KEY, accountId],
    queryFn: ({ signal }) => call('GetAccount', { accountId }, { signal }),
  })

const usersQuery = (accountId: string) =>
  queryOptions({
    queryKey: [...IDENTITY_KEY, accountId, 'users'],
    queryFn: ({ signal }) => call('ListUsers', { accountId }, { signal }),
  })

const FOUND_MAX = 40

/** Of all accounts. */
export const usersWithQuery = (contains: string) =>
  queryOptions({
    queryKey: [...IDENTITY_KEY, 'users with', contains],
    queryFn: ({ signal }) => call('FindUsers', { contains, limit: FOUND_MAX }, { signal }),
  })

export const useUsers = (accountId: string) => useQuery(usersQuery(accountId))

export const useUser = (accountId: string, user: string, isWanted = true) =>
  useQuery({
    queryKey: [...IDENTITY_KEY, accountId, 'users', user],
    queryFn: ({ signal }) => call('GetUser', { accountId, user }, { signal }),
    enabled: isWanted,
  })

/** Of an account itself or of one user. */
export const useKeys = (accountId: string, user: string | undefined) =>
  useQuery({
    queryKey: [...IDENTITY_KEY, accountId, 'keys', user ?? ''],
    queryFn: async ({ signal }) => {
      const { keys } = await call('ListKeys', { accountId, user }, { signal })
      return keys.filter(key => key.user === user)
    },
  })

interface Change<T, V> {
  readonly run: (value: V) => Promise<T>
  /** Said when it is done. */
  readonly notice?: string
  readonly onDone?: (result: T) => void
  /** The page's subject is gone: the page is left, and its queries are not repeated. */
  readonly leavesPage?: boolean
}

/** Runs a change and reads everything again. */
export function useIdentityChange<T, V = void>({ run, notice, onDone, leavesPage = false }: Change<T, V>) {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: run,
    onSuccess: result => {
      if (notice !== undefined) notify(notice)
      onDone?.(result)
      void queries.invalidateQueries({ queryKey: IDENTITY_KEY, refetchType: leavesPage ? 'none' : 'active' })
    },
  })
}
