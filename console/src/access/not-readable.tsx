/** Stands for a setting that the caller may not read, and leads to the reason. */
import { Anchor, Text } from '@mantine/core'
import { useSession } from '../api/session.tsx'
import { Link, toExplain } from '../router.tsx'
import { bucketAccessTexts as t } from '../texts/bucket-access.ts'

export function NotReadable({ bucket, action }: { readonly bucket: string; readonly action: string }) {
  const { accessKey } = useSession()
  return (
    <Text>
      {t.notReadable(action)}{' '}
      <Anchor
        component={Link}
        underline="always"
        href={toExplain({ as: accessKey, action, bucket })}
        aria-label={t.whyNot(action)}
      >
        {t.why}
      </Anchor>
    </Text>
  )
}
