/** Links between pages of one subject. On a narrow screen they scroll, and the page that is shown stays in view. */
import { useEffect, useRef } from 'react'
import { Link } from '../router.tsx'
import classes from './tab-links.module.css'

interface TabLink {
  readonly label: string
  readonly href: string
  readonly isHere: boolean
}

export function TabLinks({ label, tabs }: { readonly label: string; readonly tabs: readonly TabLink[] }) {
  const row = useRef<HTMLElement>(null)
  const here = tabs.find(({ isHere }) => isHere)?.href
  // biome-ignore lint/correctness/useExhaustiveDependencies: another page has another link to show.
  useEffect(() => {
    const current = row.current?.querySelector<HTMLElement>('[aria-current="page"]')
    if (!row.current || !current) return
    const { offsetLeft, offsetWidth } = current
    const start = offsetLeft - row.current.offsetLeft
    row.current.scrollLeft = start + offsetWidth > row.current.clientWidth ? start : 0
  }, [here])
  return (
    <nav ref={row} aria-label={label} className={classes.tabs}>
      {tabs.map(tab => (
        <Link key={tab.href} href={tab.href} className={classes.tab} aria-current={tab.isHere ? 'page' : undefined}>
          {tab.label}
        </Link>
      ))}
    </nav>
  )
}
