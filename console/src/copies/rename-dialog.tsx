/** Renames, moves or copies an object. */
import { Alert, Button, Checkbox, Group, Stack, Text, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { usePermissions } from '../api/permissions.ts'
import type { ObjectPlace } from '../objects/object-place.ts'
import { Dialog } from '../parts/dialog.tsx'
import { GuardedButton } from '../parts/guarded-button.tsx'
import { notify } from '../parts/notices.tsx'
import { Problem } from '../parts/problem.tsx'
import { navigate, toObject } from '../router.tsx'
import { copyTexts, renameTexts as t } from '../texts/copies.ts'
import { CopiedOnly } from './copy-object.ts'
import { type Act, type Objections, type Renaming, renameOrCopy } from './rename.ts'
import { hasNamelessFolder } from './target-key.ts'

interface Blocked extends Objections {
  readonly act: Act
}

function useRenaming({ block, close }: { block: (blocked: Blocked) => void; close: () => void }) {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: (order: Renaming) => renameOrCopy(order),
    onSuccess: (objections, { act, to }) => {
      if (objections !== undefined) return block({ act, ...objections })
      notify(act === 'rename' ? t.renamed(to.key) : t.copied(to.key))
      close()
      navigate(toObject(to.bucket, to.key))
    },
    // A rename that fails may have made a copy.
    onSettled: () => queries.invalidateQueries({ queryKey: ['listing'] }),
  })
}

function Blocking({ texts }: { readonly texts: readonly string[] }) {
  return (
    <Alert role="alert" color="red" variant="outline">
      <Stack gap="xs">
        {texts.map(text => (
          <Text key={text} size="sm">
            {text}
          </Text>
        ))}
      </Stack>
    </Alert>
  )
}

function Failure({ error }: { readonly error: Error }) {
  if (!(error instanceof CopiedOnly)) return <Problem error={error} />
  return (
    <>
      <Text size="sm" fw={600}>
        {error.message}
      </Text>
      <Problem error={error.cause} />
    </>
  )
}

interface NewPlaceProps {
  readonly to: Renaming['to']
  readonly change: (changed: Partial<Renaming['to']>) => void
  readonly problem: string | undefined
}

function NewPlace({ to, change, problem }: NewPlaceProps) {
  return (
    <>
      <TextInput
        label={t.to}
        description={t.toHint}
        value={to.key}
        onChange={event => change({ key: event.currentTarget.value })}
        error={problem}
        data-autofocus
      />
      <TextInput label={t.bucket} value={to.bucket} onChange={event => change({ bucket: event.currentTarget.value })} />
    </>
  )
}

function problemOf(place: ObjectPlace, to: Renaming['to']): string | undefined {
  if (to.bucket === place.bucket && to.key === place.key) return t.same
  const folder = place.key.slice(0, place.key.lastIndexOf('/') + 1)
  return hasNamelessFolder(to.key, folder) ? copyTexts.namelessFolder : undefined
}

export default function RenameDialog({ place, close }: { readonly place: ObjectPlace; readonly close: () => void }) {
  const [to, setTo] = useState({ bucket: place.bucket, key: place.key })
  const [withAcl, setWithAcl] = useState(false)
  const [blocked, setBlocked] = useState<Blocked>()
  const work = useRenaming({ block: setBlocked, close })
  const mayRename = place.versionId === undefined
  const { remove } = usePermissions({ remove: { action: 's3:DeleteObject', bucket: place.bucket, key: place.key } })
  const problem = problemOf(place, to)
  const isWrong = problem !== undefined || to.key === '' || to.bucket === ''
  const change = (changed: Partial<typeof to>): void => {
    setTo({ ...to, ...changed })
    setBlocked(undefined)
  }
  const run = (act: Act): void =>
    work.mutate({ act, from: place, to, withAcl, accepted: blocked?.act === act ? blocked.texts : [] })
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    if (!isWrong && !(mayRename && remove.isRefused)) run(mayRename ? 'rename' : 'copy')
  }
  const isBusyWith = (act: Act): boolean => work.isPending && work.variables.act === act
  const labelOf = (act: Act): string =>
    blocked?.act !== act ? t.acts[act] : blocked.isThere ? t.replace : t.anyway[act]
  return (
    <Dialog title={t.title} close={close}>
      <form onSubmit={submit}>
        <Stack>
          <Text size="sm">{t.what}</Text>
          {work.error !== null && <Failure error={work.error} />}
          {blocked !== undefined && <Blocking texts={blocked.texts} />}
          <NewPlace {...{ to, change, problem }} />
          <Checkbox
            label={t.withAcl}
            description={t.withAclHint}
            checked={withAcl}
            onChange={event => {
              setWithAcl(event.currentTarget.checked)
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
              <GuardedButton
                type="submit"
                permission={remove}
                disabled={isWrong || isBusyWith('copy')}
                loading={isBusyWith('rename')}
              >
                {labelOf('rename')}
              </GuardedButton>
            )}
          </Group>
        </Stack>
      </form>
    </Dialog>
  )
}
