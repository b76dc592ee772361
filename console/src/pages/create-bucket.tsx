/** The dialog that creates a bucket, by requests of the caller's own. */
import { Button, Checkbox, Stack, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { BUCKETS_KEY } from '../api/use-buckets.ts'
import { createBucket } from '../objects/buckets.ts'
import { Dialog } from '../parts/dialog.tsx'
import { notify } from '../parts/notices.tsx'
import { Problem } from '../parts/problem.tsx'
import { navigate, toFolder } from '../router.tsx'
import { texts } from '../texts/texts.ts'

const t = texts.createBucket
const NAME = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/

export function CreateBucket({ close }: { readonly close: () => void }) {
  const [name, setName] = useState('')
  const [hasVersions, setVersions] = useState(true)
  const [isLocked, setLocked] = useState(false)
  const [isChecked, setChecked] = useState(false)
  const queries = useQueryClient()
  const creation = useMutation({
    mutationFn: () => createBucket(name, { lock: isLocked, versioning: hasVersions }),
    onSuccess: () => {
      notify(t.created(name))
      void queries.invalidateQueries({ queryKey: BUCKETS_KEY })
      navigate(toFolder(name))
    },
  })
  const isWrong = !NAME.test(name)
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    setChecked(true)
    if (!isWrong) creation.mutate()
  }
  return (
    <Dialog title={t.title} close={close}>
      <form onSubmit={submit} noValidate>
        <Stack>
          {creation.error !== null && <Problem error={creation.error} />}
          <TextInput
            label={t.name}
            description={t.nameHint}
            error={isChecked && isWrong ? t.nameWrong : undefined}
            value={name}
            onChange={event => setName(event.currentTarget.value)}
            autoCapitalize="none"
            autoComplete="off"
            spellCheck={false}
            required
            data-autofocus
          />
          <Checkbox
            label={t.versioning}
            description={t.versioningHint}
            checked={hasVersions || isLocked}
            disabled={isLocked}
            onChange={event => setVersions(event.currentTarget.checked)}
          />
          <Checkbox
            label={t.lock}
            description={t.lockHint}
            checked={isLocked}
            onChange={event => setLocked(event.currentTarget.checked)}
          />
          <Button type="submit" loading={creation.isPending}>
            {t.submit}
          </Button>
        </Stack>
      </form>
    </Dialog>
  )
}
