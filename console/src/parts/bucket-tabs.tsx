/** The pages of one bucket. */
import { Link, toBucketAccess, toFolder, toHolds, toRules, toSettings, usePlace } from '../router.tsx'
import { texts } from '../texts/texts.ts'
import classes from './bucket-tabs.module.css'

const t = texts.bucketTabs

interface Tab {
  readonly label: string
  /** The segment after the name of the bucket. */
  readonly part: string | undefined
  readonly href: (bucket: string) => string
}

const TABS: readonly Tab[] = [
  { label: t.objects, part: undefined, href: bucket => toFolder(bucket) },
  { label: t.holds, part: 'holds', href: bucket => toHolds(bucket) },
  { label: t.rules, part: 'rules', href: bucket => toRules(bucket) },
  { label: t.access, part: 'access', href: toBucketAccess },
  { label: t.settings, part: 'settings', href: toSettings },
]

export function BucketTabs({ bucket }: { readonly bucket: string }) {
  const here = usePlace().segments[2]
  return (
    <nav aria-label={t.label(bucket)} className={classes.tabs}>
      {TABS.map(({ label, part, href }) => (
        <Link key={label} href={href(bucket)} className={classes.tab} aria-current={part === here ? 'page' : undefined}>
          {label}
        </Link>
      ))}
    </nav>
  )
}
