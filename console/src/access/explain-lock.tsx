/** The lock of the version in question. */
import { Text } from '@mantine/core'
import type { AdminApi } from '../api/admin-api.ts'
import { exactTimeText } from '../format.ts'
import { Facts } from '../parts/facts.tsx'
import { explainTexts as t } from '../texts/explain.ts'

type Lock = NonNullable<AdminApi['Explain']['output']['lock']>

const sinceText = (since: Lock['heldSince']): string =>
  since === null ? '' : `, ${t.since(exactTimeText(new Date(since.time)), since.by)}`

export function ExplainLock({ lock }: { readonly lock: Lock }) {
  const { hold, heldSince, retention, retainedSince, stops, mayBypass, versionId } = lock
  const held = hold === null ? t.none : hold === 'ON' ? t.holdOn + sinceText(heldSince) : t.holdOff
  const retained =
    retention === undefined
      ? t.none
      : t.retainedUntil(retention.mode, exactTimeText(new Date(retention.until))) + sinceText(retainedSince)
  return (
    <Facts
      title={t.lock}
      rows={[
        [t.lockVersion, versionId],
        [t.hold, held],
        [t.retention, retained],
      ]}
    >
      {stops !== null && <Text fw={600}>{t.stops[stops] ?? stops}</Text>}
      {stops === 'governance' && <Text size="sm">{mayBypass ? t.mayBypass : t.mayNotBypass}</Text>}
    </Facts>
  )
}
