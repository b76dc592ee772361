/** Renames, moves or copies an object. */
import { Alert, Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { copyObject, exists, moveObject } from '../objects/changes.ts'
import type { ObjectPlace } from '../objects/object-place.ts'
import { Dialog } from '../parts/dialog.tsx'
import { notify } from '../parts/notices.tsx'
import { Problem } from '../parts/problem.tsx'
import { navigate, toObject } from '../router.tsx'
import { texts } from '../texts/texts.ts'

const t = texts.rename

type Act = 'rename' | 'copy'

interface Move {
  readonly act: Act
  readonly to: { readonly bucket: string; readonly key: string }
  /** It replaces an object that is there. */
  readonly isSure: boolean
}

/** Resolves to undefined, and changes nothing, where an object is in the way. */
function useMove(place: ObjectPlace, { block, close }: { block: (act: Act) => void; close: () => void }) {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: async ({ act, to, isSure }: Move): Promise<Act | undefined> => {
      if (!isSure && (await exists(to.bucket, to.key))) return undefined
      const from = { bucket: place.bucket, key: place.key, ...(place.versionId && { versionId: place.versionId }) }
      await (act === 'rename' ? moveObject : copyObject)({ from, to })
      return act
    },
    onSuccess: (done, { act, to }) => {
      if (done === undefined) return block(act)
      void queries.invalidateQueries({ queryKey: ['listing'] })
      notify(done === 'rename' ? t.renamed(to.key) : t.copied(to.key))
      close()
      navigate(toObject(to.bucket, to.key))
    },
  })
}

export default function RenameDialog({ place, close }: { readonly place: ObjectPlace; readonly close: () => void }) {
  const [bucket, setBucket] = useState(place.bucket)
  const [key, setKey] = useState(place.key)
  const [blocked, setBlocked] = useState<Act>()
  const work = useMove(place, { block: setBlocked, close })
  const mayRename = place.versionId === undefined
  const isSame = bucket === place.bucket && key === place.key
  const isWrong = isSame || key === '' || bucket === ''
  const run = (act: Act): void => work.mutate({ act, to: { bucket, key }, isSure: blocked === act })
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    if (!isWrong) run(mayRename ? 'rename' : 'copy')
  }
  const isBusyWith = (act: Act): boolean => work.isPending && work.variables.act === act
  const labelOf = (act: Act): string => (blocked === act ? t.anyway : t[act])
  return (
    <Dialog title={t.title} close={close}>
      <form onSubmit={submit}>
        <Stack>
          <Text size="sm">{t.what}</Text>
          {work.error !== null && <Problem error={work.error} />}
          {blocked !== undefined && (
            <Alert role="alert" color="red" variant="outline">
              {t.exists}
            </Alert>
          )}
          <TextInput
            label={t.to}
            description={t.toHint}
            value={key}
            onChange={event => {
              setKey(event.currentTarget.value)
              setBlocked(undefined)
            }}
            error={isSame ? t.same : undefined}
            data-autofocus
          />
          <TextInput
            label={t.bucket}
            value={bucket}
            onChange={event => {
              setBucket(event.currentTarget.value)
              setBlocked(undefined)
            }}
          />
          <Group justify="flex-end">
            <Button
              type={mayRename ? 'button' : 'submit'}
              variant="default"
              disabled={isWrong || isBusyWith('rename')}
              loading={isBusyWith('copy')}
              {...(mayRename ? { onClick: () => run('copy') } : {})}
            >
              {labelOf('copy')}
            </Button>
            {mayRename && (
              <Button type="submit" disabled={isWrong || isBusyWith('copy')} loading={isBusyWith('rename')}>
                {labelOf('rename')}
              </Button>
            )}
          </Group>
        </Stack>
      </form>
    </Dialog>
  )
}
