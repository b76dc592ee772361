/** The servers that share the store. */
import { Badge, Button, Stack, Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import type { AdminApi } from '../api/admin-api.ts'
import { call } from '../api/client.ts'
import { timeText } from '../format.ts'
import { type Column, DataTable } from '../parts/data-table.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { notify } from '../parts/notices.tsx'
import { Problem } from '../parts/problem.tsx'
import { Section } from '../parts/section.tsx'
import { serverTexts } from '../texts/server.ts'
import { type SeenMembers, seenMembers, silenceOf } from './renewals.ts'
import { polledKey, usePolled } from './use-polled.ts'

const t = serverTexts.processes
const EVERY_MS = 2000

type Member = AdminApi['GetCluster']['output']['members'][number]

function ExpelDialog({ member, close }: { readonly member: Member; readonly close: () => void }) {
  const queries = useQueryClient()
  const expulsion = useMutation({
    mutationFn: () => call('ExpelMember', { id: member.id }),
    onSuccess: () => {
      notify(t.expelled(member.address))
      close()
      return queries.invalidateQueries({ queryKey: polledKey('GetCluster') })
    },
  })
  return (
    <Dialog title={t.expelTitle(member.address)} close={close}>
      <Stack>
        <Text>{t.expelText}</Text>
        {expulsion.error !== null && <Problem error={expulsion.error} />}
        <Button color="red" loading={expulsion.isPending} onClick={() => expulsion.mutate()}>
          {t.expel}
        </Button>
      </Stack>
    </Dialog>
  )
}

const COLUMNS: readonly Column[] = [
  { title: t.address },
  { title: t.state },
  { title: t.version, isWide: true },
  { title: t.joined, isWide: true },
  { title: t.id, isWide: true },
  { title: t.actions },
]

function MemberState({ member, silence }: { readonly member: Member; readonly silence: number | undefined }) {
  return (
    <>
      {member.leads && <Badge mr={6}>{t.leads}</Badge>}
      {silence === undefined ? t.watching : silence === 0 ? t.alive : <strong>{t.silent(silence)}</strong>}
    </>
  )
}

/** When renewals of each member were last seen to go on. */
function useSeenMembers(members: readonly Member[], at: number): SeenMembers {
  const seen = useRef<{ at: number; members: SeenMembers }>({ at: 0, members: new Map() })
  if (seen.current.at !== at) seen.current = { at, members: seenMembers(seen.current.members, members, at) }
  return seen.current.members
}

export function Members() {
  const { data, error, dataUpdatedAt } = usePolled('GetCluster', EVERY_MS)
  const [expelled, setExpelled] = useState<Member>()
  const members = data?.members ?? []
  const seen = useSeenMembers(members, dataUpdatedAt)
  return (
    <Section title={t.members}>
      {error !== null && <Problem error={error} />}
      {data !== undefined && members.length === 0 && (
        <>
          <Text>{t.alone}</Text>
          <Text size="sm" c="dimmed">
            {t.aloneText}
          </Text>
        </>
      )}
      {members.length > 0 && (
        <>
          <Text size="sm" c="dimmed">
            {t.leadsText}
          </Text>
          <DataTable
            label={t.members}
            columns={COLUMNS}
            rows={members.map(member => ({
              id: member.id,
              cells: [
                member.address,
                <MemberState key="state" member={member} silence={silenceOf(seen.get(member.id)!, dataUpdatedAt)} />,
                member.version,
                timeText(new Date(member.joinedAt)),
                member.id,
                <Button key="expel" size="xs" variant="default" onClick={() => setExpelled(member)}>
                  {t.expel}
                </Button>,
              ],
            }))}
          />
        </>
      )}
      {expelled !== undefined && <ExpelDialog member={expelled} close={() => setExpelled(undefined)} />}
    </Section>
  )
}
