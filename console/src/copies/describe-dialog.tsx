/** Edits the headers and the user metadata of an object by copying it onto itself. */
import { Alert, Button, Group, Skeleton, Stack, Text, TextInput } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { useSession } from '../api/session.tsx'
import { visibleText } from '../format.ts'
import { readVersioning } from '../objects/buckets.ts'
import { isLocked, type ObjectDetails, objectDetails } from '../objects/details.ts'
import type { ObjectPlace } from '../objects/object-place.ts'
import { Dialog } from '../parts/dialog.tsx'
import { notify } from '../parts/notices.tsx'
import { Problem } from '../parts/problem.tsx'
import { WrongValue } from '../parts/wrong-value.tsx'
import { TagRows } from '../rules/tag-rows.tsx'
import { keptAclTexts, describeTexts as t } from '../texts/copies.ts'
import { texts } from '../texts/texts.ts'
import { copyObject } from './copy-object.ts'
import { type DescriptionForm, descriptionOf, FIELDS, formOf, isSameState, problemOf } from './description-form.ts'
import { type KeptAcl, keptAcl } from './kept-acl.ts'

interface DescribeDialogProps {
  readonly place: ObjectPlace
  readonly details: ObjectDetails
  readonly close: () => void
}

function useSaving({ place: { bucket, key }, details, close }: DescribeDialogProps) {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: async ({ form, acl }: { form: DescriptionForm; acl: KeptAcl }) => {
      const place = { bucket, key }
      const source = await objectDetails(bucket, key)
      if (!isSameState(source, details)) throw new Error(t.changed)
      // Neither the time nor the ETag tells that access was withdrawn while the dialog was open.
      const now = await keptAcl(place, place, new AbortController().signal)
      if (JSON.stringify(now) !== JSON.stringify(acl)) throw new Error(t.changed)
      await copyObject({ from: place, to: place, source, grants: now.grants, described: descriptionOf(form) })
    },
    onSuccess: async () => {
      for (const name of ['object', 'versions', 'listing', 'tags', 'acl']) {
        await queries.invalidateQueries({ queryKey: [name, bucket] })
      }
      notify(t.saved)
      close()
    },
  })
}

/** A caller who may not read the setting still may write. */
function Meaning({ bucket, details, acl }: { bucket: string; details: ObjectDetails; acl: KeptAcl }) {
  const { account } = useSession()
  const { data = 'unknown', isPending } = useQuery({
    queryKey: ['versioning', bucket],
    queryFn: () => readVersioning(bucket),
    retry: false,
  })
  if (isPending) return <Skeleton height={60} aria-label={texts.loading} />
  return (
    <Alert variant="outline">
      <Stack gap="xs">
        <Text size="sm">{t.means[data]}</Text>
        <Text size="sm">{acl.loss === undefined ? t.kept : t.keptWithoutAcl}</Text>
        {acl.loss !== undefined && (
          <Text size="sm" fw={600}>
            {acl.loss}
          </Text>
        )}
        {acl.owner !== undefined && acl.owner !== account.displayName && (
          <Text size="sm">{keptAclTexts.otherOwner(visibleText(acl.owner))}</Text>
        )}
        {isLocked(details) && <Text size="sm">{t.locked}</Text>}
      </Stack>
    </Alert>
  )
}

interface FieldsProps {
  readonly form: DescriptionForm
  readonly change: (form: DescriptionForm) => void
  readonly isDisabled: boolean
}

function Fields({ form, change, isDisabled }: FieldsProps) {
  return (
    <>
      <TextInput
        label={t.contentType}
        description={t.contentTypeHint}
        value={form.contentType}
        disabled={isDisabled}
        onChange={event => change({ ...form, contentType: event.currentTarget.value })}
        data-autofocus
      />
      {FIELDS.map(name => (
        <TextInput
          key={name}
          label={t.fields[name]}
          value={form.fields[name] ?? ''}
          disabled={isDisabled}
          onChange={event => change({ ...form, fields: { ...form.fields, [name]: event.currentTarget.value } })}
        />
      ))}
      <TagRows
        label={t.metadata}
        tags={form.metadata}
        words={t.pairs}
        change={metadata => change({ ...form, metadata })}
        isDisabled={isDisabled}
      />
    </>
  )
}

export default function DescribeDialog(props: DescribeDialogProps) {
  const { place, details, close } = props
  const { bucket, key } = place
  const [form, setForm] = useState(() => formOf(details))
  const [isTried, setTried] = useState(false)
  const saving = useSaving(props)
  // Read anew for every dialog: it says what is kept.
  const acl = useQuery({
    queryKey: ['kept-acl', bucket, key],
    queryFn: ({ signal }) => keptAcl({ bucket, key }, { bucket, key }, signal),
    staleTime: 0,
    gcTime: 0,
  })
  const problem = problemOf(form)
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    setTried(true)
    if (problem === undefined && acl.data !== undefined) saving.mutate({ form, acl: acl.data })
  }
  return (
    <Dialog title={t.title} close={close} size="lg">
      <form onSubmit={submit}>
        <Stack>
          {acl.error !== null && <Problem error={acl.error} />}
          <Fields form={form} change={setForm} isDisabled={saving.isPending} />
          <WrongValue text={isTried ? problem : undefined} />
          {acl.data !== undefined && <Meaning bucket={bucket} details={details} acl={acl.data} />}
          {saving.error !== null && <Problem error={saving.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              {texts.cancel}
            </Button>
            <Button type="submit" loading={saving.isPending} disabled={acl.data === undefined}>
              {t.save}
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  )
}
