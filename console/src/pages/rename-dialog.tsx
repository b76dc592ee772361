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

export default function RenameDialog({ place, close }: { readonly place: ObjectPlace; readonly close: () => void }) {
  const [bucket, setBucket] = useState(place.bucket)
  const [key, setKey] = useState(place.key)
  const [blocked, setBlocked] = useState<Act>()
  const queries = useQueryClient()
  const work = useMutation({
    mutationFn: async ({ act, isSure }: { act: Act; isSure: boolean }): Promise<Act | undefined> => {
      if (!isSure && (await exists(bucket, key))) {
        setBlocked(act)
        return undefined
      }
      const from = { bucket: place.bucket, key: place.key, ...(place.versionId && { versionId: place.versionId }) }
      await (act === 'rename' ? moveObject : copyObject)({ from, to: { bucket, key } })
      return act
    },
    onSuccess: act => {
      if (act === undefined) return
      void queries.invalidateQueries({ queryKey: ['listing'] })
      notify(act === 'rename' ? t.renamed(key) : t.copied(key))
      close()
      navigate(toObject(bucket, key))
    },
  })
  const mayRename = place.versionId === undefined
  const isSame = bucket === place.bucket && key === place.key
  const isWrong = isSame || key === '' || bucket === ''
  const run = (act: Act): void => work.mutate({ act, isSure: blocked === act })
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
