/** The question: who, what, where, and what is known about the request. */
import { Autocomplete, Button, Checkbox, Fieldset, NativeSelect, Radio, Text, TextInput } from '@mantine/core'
import { useQueries } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { call } from '../api/client.ts'
import { useSession } from '../api/session.tsx'
import { useBuckets } from '../api/use-buckets.ts'
import { type ExplainFields, navigate, toExplain } from '../router.tsx'
import { explainTexts as t } from '../texts/explain.ts'
import classes from './explain.module.css'
import { IDENTITY_KEY, useAccounts } from './identity-queries.ts'
import { useVocabulary } from './policy-editor.tsx'

/** Of more accounts, keys and users are typed. */
const ACCOUNTS_MAX = 20

/** Keys and users that can be asked about, for administrators. */
function useKnownCallers(): string[] {
  const { administrator, accessKey } = useSession()
  const { data } = useAccounts(administrator)
  const accounts = (data?.accounts ?? []).slice(0, ACCOUNTS_MAX)
  const found = useQueries({
    queries: accounts.map(({ accountId }) => ({
      queryKey: [...IDENTITY_KEY, accountId, 'all-keys'],
      queryFn: () => call('ListKeys', { accountId }),
    })),
  })
  const users = useQueries({
    queries: accounts.map(({ accountId }) => ({
      queryKey: [...IDENTITY_KEY, accountId, 'users'],
      queryFn: () => call('ListUsers', { accountId }),
    })),
  })
  const keys = found.flatMap(({ data: listed }) => listed?.keys ?? []).filter(({ disabled }) => !disabled)
  const names = users.flatMap(({ data: listed }) => listed?.users ?? []).filter(({ disabled }) => !disabled)
  return [
    ...new Set([accessKey, ...keys.map(key => key.accessKey)]),
    ...names.map(({ accountId, name }) => `${accountId}/${name}`),
  ]
}

interface FieldsProps {
  readonly fields: ExplainFields
  readonly change: (changed: Partial<ExplainFields>) => void
}

const INLINE = { comboboxProps: { withinPortal: false }, limit: 50, autoComplete: 'off' } as const

function Who({ fields, change }: FieldsProps) {
  const { administrator, accessKey } = useSession()
  const callers = useKnownCallers()
  if (!administrator) {
    return (
      <div>
        <TextInput label={t.accessKey} value={accessKey} readOnly description={t.ownKey} />
      </div>
    )
  }
  const isAnonymous = fields.as === undefined
  return (
    <div className={classes.pair}>
      <Radio.Group
        label={t.who}
        value={isAnonymous ? 'anonymous' : 'key'}
        onChange={value => change({ as: value === 'key' ? accessKey : undefined })}
      >
        <div className={classes.radios}>
          <Radio value="anonymous" label={t.anonymous} />
          <Radio value="key" label={t.withKey} />
        </div>
      </Radio.Group>
      {!isAnonymous && (
        <Autocomplete
          {...INLINE}
          label={t.caller}
          description={t.callerHint}
          data={callers}
          value={fields.as ?? ''}
          onChange={value => change({ as: value })}
        />
      )}
    </div>
  )
}

function What({ fields, change }: FieldsProps) {
  const { data: words } = useVocabulary()
  const { buckets } = useBuckets()
  return (
    <>
      <div className={classes.pair}>
        <Autocomplete
          {...INLINE}
          label={t.action}
          placeholder={t.actionHint}
          data={words?.actions.map(({ action }) => action) ?? []}
          value={fields.action ?? ''}
          onChange={action => change({ action })}
          required
        />
        <Autocomplete
          {...INLINE}
          label={t.bucket}
          data={buckets.map(({ name }) => name)}
          value={fields.bucket ?? ''}
          onChange={bucket => change({ bucket })}
        />
      </div>
      <div className={classes.pair}>
        <TextInput
          label={t.key}
          autoComplete="off"
          value={fields.key ?? ''}
          onChange={event => change({ key: event.currentTarget.value })}
        />
        <TextInput
          label={t.version}
          autoComplete="off"
          value={fields.version ?? ''}
          onChange={event => change({ version: event.currentTarget.value })}
        />
      </div>
    </>
  )
}

function Conditions({ fields, change }: FieldsProps) {
  return (
    <Fieldset legend={t.conditions}>
      <Text size="sm" c="dimmed" mb="xs">
        {t.conditionsHint}
      </Text>
      <div className={classes.three}>
        <TextInput
          label={t.address}
          autoComplete="off"
          value={fields.address ?? ''}
          onChange={event => change({ address: event.currentTarget.value })}
        />
        <NativeSelect
          label={t.tls}
          value={fields.tls ?? ''}
          data={Object.entries(t.tlsChoices)
            .map(([value, label]) => ({ value, label }))
            .sort((a, b) => a.value.length - b.value.length)}
          onChange={event => change({ tls: event.currentTarget.value })}
        />
        <TextInput
          type="datetime-local"
          label={t.time}
          value={fields.time ?? ''}
          onChange={event => change({ time: event.currentTarget.value })}
        />
      </div>
      <Checkbox
        mt="sm"
        label={t.bypass}
        checked={fields.bypass === 'yes'}
        onChange={event => change({ bypass: event.currentTarget.checked ? 'yes' : undefined })}
      />
    </Fieldset>
  )
}

export function ExplainForm({ initial }: { readonly initial: ExplainFields }) {
  const { accessKey, administrator } = useSession()
  const isNew = initial.action === undefined
  const [fields, setFields] = useState<ExplainFields>({
    ...initial,
    ...((isNew && initial.as === undefined) || !administrator ? { as: accessKey } : {}),
  })
  const change = (changed: Partial<ExplainFields>): void => setFields(before => ({ ...before, ...changed }))
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    navigate(toExplain(fields))
  }
  return (
    <form onSubmit={submit} className={classes.form}>
      <Who fields={fields} change={change} />
      <What fields={fields} change={change} />
      <Conditions fields={fields} change={change} />
      <div>
        <Button type="submit">{t.ask}</Button>
      </div>
    </form>
  )
}
