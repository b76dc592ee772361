/** Accounts and their users, for administrators. */
import { useQueries } from '@tanstack/react-query'
import { useAccounts, usersWithQuery } from '../access/identity-queries.ts'
import { useSession } from '../api/session.tsx'
import { visibleText } from '../format.ts'
import { toAccount, toUser } from '../router.tsx'
import { paletteTexts as t } from '../texts/palette.ts'
import { type Command, pageCommand } from './command.ts'

interface IdentityCommands {
  readonly commands: Command[]
  readonly isPending: boolean
}

/** Users are found by the server, by the words that were typed. */
export function useIdentityCommands(words: readonly string[]): IdentityCommands {
  const { administrator } = useSession()
  const { data } = useAccounts(administrator)
  const accounts = data?.accounts ?? []
  const { users, isPending } = useQueries({
    queries: words.map(word => ({ ...usersWithQuery(word), enabled: administrator })),
    combine: lists => ({
      users: lists.flatMap(list => list.data?.users ?? []),
      isPending: lists.some(({ isLoading }) => isLoading),
    }),
  })
  const names = new Map(
    accounts.map(({ accountId, displayName }) => [accountId, visibleText(displayName || accountId)]),
  )
  const commands = [
    ...accounts.map(({ accountId }) => pageCommand(t.account(names.get(accountId)!), 'user', toAccount(accountId))),
    ...users.map(({ accountId, name }) =>
      pageCommand(t.user(visibleText(name), names.get(accountId) ?? accountId), 'user', toUser(accountId, name)),
    ),
  ]
  return { commands, isPending }
}
