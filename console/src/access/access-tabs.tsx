/** The pages of the area that are not about one account. */
import { useSession } from '../api/session.tsx'
import classes from '../parts/bucket-tabs.module.css'
import { Link, toAccess, toExplain, toPublicAccess, usePlace } from '../router.tsx'
import { accessTexts } from '../texts/access.ts'

const t = accessTexts.tabs

export function AccessTabs() {
  const { administrator } = useSession()
  const here = usePlace().segments[1]
  const tabs = [
    { label: administrator ? t.accounts : t.own, part: undefined, href: toAccess() },
    { label: t.public, part: 'public', href: toPublicAccess() },
    { label: t.explain, part: 'explain', href: toExplain() },
  ]
  return (
    <nav aria-label={accessTexts.tabsLabel} className={classes.tabs}>
      {tabs.map(({ label, part, href }) => (
        <Link key={label} href={href} className={classes.tab} aria-current={part === here ? 'page' : undefined}>
          {label}
        </Link>
      ))}
    </nav>
  )
}
