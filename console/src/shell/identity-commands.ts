/** Accounts and their users, for administrators. */
import { useQueries } from '@tanstack/react-query'
import { useAccounts, usersQuery } from '../access/identity-queries.ts'
import { useSession } from '../api/session.tsx'
import { visibleText } from '../format.ts'
import { toAccount, toUser } from '../router.tsx'
import { paletteTexts as t } from '../texts/palette.ts'
import { type Command, pageCommand } from './command.ts'

/** Each account is asked for its users. */
const ASKED_MAX = 50
const TYPED_MIN = 2

export function useIdentityCommands(text: string): Command[] {
  const { administrator } = useSession()
  const { data } = useAccounts(administrator)
  const accounts = data?.accounts ?? []
  const isTyped = text.trim().length >= TYPED_MIN
  const lists = useQueries({
    queries: accounts.slice(0, ASKED_MAX).map(({ accountId }) => ({ ...usersQuery(accountId), enabled: isTyped })),
  })
  const nameOf = (displayName: string, accountId: string): string => visibleText(displayName || accountId)
  return [
    ...accounts.map(({ accountId, displayName }) =>
      pageCommand(t.account(nameOf(displayName, accountId)), 'user', toAccount(accountId)),
    ),
    ...lists.flatMap(({ data: users }, i) => {
      const { accountId, displayName } = accounts[i]!
      const account = nameOf(displayName, accountId)
      return (users?.users ?? []).map(({ name }) =>
        pageCommand(t.user(visibleText(name), account), 'user', toUser(accountId, name)),
      )
    }),
  ]
}
