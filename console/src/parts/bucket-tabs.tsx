/** The pages of one bucket. */
import { toBucketAccess, toFolder, toHolds, toRules, toSettings, usePlace } from '../router.tsx'
import { texts } from '../texts/texts.ts'
import { TabLinks } from './tab-links.tsx'

const t = texts.bucketTabs

interface Tab {
  readonly label: string
  /** The segment after the name of the bucket. */
  readonly part: string | undefined
  readonly to: (bucket: string) => string
}

const TABS: readonly Tab[] = [
  { label: t.objects, part: undefined, to: bucket => toFolder(bucket) },
  { label: t.holds, part: 'holds', to: bucket => toHolds(bucket) },
  { label: t.rules, part: 'rules', to: bucket => toRules(bucket) },
  { label: t.access, part: 'access', to: toBucketAccess },
  { label: t.settings, part: 'settings', to: toSettings },
]

export function BucketTabs({ bucket }: { readonly bucket: string }) {
  const here = usePlace().segments[2]
  const tabs = TABS.map(({ label, part, to }) => ({ label, href: to(bucket), isHere: part === here }))
  return <TabLinks label={t.label(bucket)} tabs={tabs} />
}
