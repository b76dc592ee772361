/** Copies an old version to the top, after it was told who will have access to the copy. */
import { Button, Group, Skeleton, Stack, Text } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { copyObject } from '../copies/copy-object.ts'
import { type KeptAcl, keptAcl } from '../copies/kept-acl.ts'
import { exactTimeText } from '../format.ts'
import { objectDetails } from '../objects/details.ts'
import type { Version } from '../objects/listing.ts'
import { Dialog } from '../parts/dialog.tsx'
import { notify } from '../parts/notices.tsx'
import { Problem } from '../parts/problem.tsx'
import { texts } from '../texts/texts.ts'

const t = texts.versions

interface MakeCurrentDialogProps {
  readonly bucket: string
  readonly version: Version
  /** The newest version is a delete marker: there is no ACL that the copy could get. */
  readonly isDeleted: boolean
  readonly close: () => void
}

/**
 * The ACL of the current version, not of the old one: access may have been withdrawn since then. Null where there is
 * no current version.
 */
async function currentAcl(
  { bucket, version: { key }, isDeleted }: MakeCurrentDialogProps,
  signal: AbortSignal,
): Promise<KeptAcl | null> {
  return isDeleted ? null : keptAcl({ bucket, key }, { bucket, key }, signal)
}

function useMakingCurrent(props: MakeCurrentDialogProps) {
  const queries = useQueryClient()
  const { bucket, version, close } = props
  return useMutation({
    mutationFn: async () => {
      const { key, versionId } = version
      const source = await objectDetails(bucket, key, versionId)
      const acl = await currentAcl(props, new AbortController().signal)
      await copyObject({ from: { bucket, key, versionId }, to: { bucket, key }, source, grants: acl?.grants ?? [] })
    },
    onSuccess: async () => {
      for (const name of ['versions', 'object', 'listing', 'tags', 'acl']) {
        await queries.invalidateQueries({ queryKey: [name, bucket] })
      }
      notify(t.madeCurrent)
      close()
    },
  })
}

const accessText = (acl: KeptAcl | null): string => {
  if (acl === null) return t.currentPrivate
  return acl.isOff ? t.currentWithoutAcl : (acl.loss ?? t.currentAcl)
}

export default function MakeCurrentDialog(props: MakeCurrentDialogProps) {
  const { bucket, version, isDeleted, close } = props
  const making = useMakingCurrent(props)
  const acl = useQuery({
    queryKey: ['kept-acl', bucket, version.key, isDeleted],
    queryFn: ({ signal }) => currentAcl(props, signal),
    staleTime: 0,
    gcTime: 0,
  })
  return (
    <Dialog title={t.makeCurrentTitle} close={close}>
      <Stack>
        <Text>{t.makeCurrentText(exactTimeText(version.modifiedAt))}</Text>
        {acl.isPending && <Skeleton height={40} aria-label={texts.loading} />}
        {acl.data !== undefined && <Text>{accessText(acl.data)}</Text>}
        {acl.error !== null && <Problem error={acl.error} retry={() => void acl.refetch()} />}
        {making.error !== null && <Problem error={making.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={close}>
            {texts.cancel}
          </Button>
          <Button loading={making.isPending} disabled={acl.data === undefined} onClick={() => making.mutate()}>
            {t.makeCurrent}
          </Button>
        </Group>
      </Stack>
    </Dialog>
  )
}
