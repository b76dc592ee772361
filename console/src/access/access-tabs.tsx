/** The pages of the area that are not about one account. */
import { useSession } from '../api/session.tsx'
import { TabLinks } from '../parts/tab-links.tsx'
import { toAccess, toExplain, toPublicAccess, usePlace } from '../router.tsx'
import { accessTexts } from '../texts/access.ts'

const t = accessTexts.tabs

export function AccessTabs() {
  const { administrator } = useSession()
  const here = usePlace().segments[1]
  const tabs = [
    { label: administrator ? t.accounts : t.own, href: toAccess(), isHere: here === undefined },
    { label: t.public, href: toPublicAccess(), isHere: here === 'public' },
    { label: t.explain, href: toExplain(), isHere: here === 'explain' },
  ]
  return <TabLinks label={accessTexts.tabsLabel} tabs={tabs} />
}
