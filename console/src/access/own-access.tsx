/** The key and policies of a caller who is no administrator. */
import { Anchor, Stack, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { call } from '../api/client.ts'
import { useSession } from '../api/session.tsx'
import { visibleText } from '../format.ts'
import { Facts } from '../parts/facts.tsx'
import { Problem } from '../parts/problem.tsx'
import { Section } from '../parts/section.tsx'
import { Link, toExplain } from '../router.tsx'
import { accessTexts } from '../texts/access.ts'
import { PolicyWords } from './policy-editor.tsx'

const t = accessTexts.own

export function OwnAccess() {
  const { accessKey, account, user } = useSession()
  const { data, error } = useQuery({
    queryKey: ['own-policies'],
    queryFn: ({ signal }) => call('GetOwnPolicies', {}, { signal }),
  })
  return (
    <Stack>
      <Facts
        title={t.key}
        rows={[
          [accessTexts.keys.accessKey, accessKey],
          [t.account, account.displayName],
          [accessTexts.accounts.id, account.accountId],
          [t.user, user ?? t.accountKey],
        ]}
      >
        <Text size="sm" c="dimmed" my="xs">
          {t.manage}
        </Text>
        <Anchor component={Link} href={toExplain({ as: accessKey })}>
          {t.ask}
        </Anchor>
      </Facts>
      <Section title={t.policies}>
        {error !== null && <Problem error={error} />}
        {user === undefined && <Text>{t.accountText}</Text>}
        {user !== undefined && data?.policies.length === 0 && <Text>{t.noPolicies}</Text>}
        {data?.policies.map(({ name, document }) => (
          <div key={name}>
            <Title order={3} size="h5">
              {visibleText(name)}
            </Title>
            <PolicyWords text={document} />
          </div>
        ))}
      </Section>
    </Stack>
  )
}
