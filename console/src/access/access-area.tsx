/** The pages of the area, by the segments after its name. */
import type { Place } from '../router.tsx'
import { AccountPage } from './account-page.tsx'
import { AccountsPage } from './accounts-page.tsx'
import { ExplainPage } from './explain-page.tsx'
import { PublicPage } from './public-page.tsx'
import { UserPage } from './user-page.tsx'
import { UserPolicyPage } from './user-policy-page.tsx'

export default function AccessArea({ place }: { readonly place: Place }) {
  const [, page, accountId, , user, part, policy] = place.segments
  if (page === 'public') return <PublicPage />
  if (page === 'explain') return <ExplainPage query={place.query} />
  if (page !== 'accounts' || accountId === undefined) return <AccountsPage />
  if (user === undefined) return <AccountPage key={accountId} accountId={accountId} />
  if (part === 'policies') return <UserPolicyPage key={policy ?? ''} {...{ accountId, user, policy }} />
  return <UserPage key={`${accountId}/${user}`} accountId={accountId} user={user} />
}
