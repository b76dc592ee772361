/** The dialog for one lifecycle rule. It writes into the document; saving is a step of its own. */
import { Button, Checkbox, Fieldset, Stack, Text, TextInput } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import type { Bucket } from '../api/use-buckets.ts'
import { Dialog } from '../parts/dialog.tsx'
import { DialogButtons } from '../parts/dialog-buttons.tsx'
import { WrongValue } from '../parts/wrong-value.tsx'
import { lifecycleSentences } from '../texts/lifecycle-sentences.ts'
import { rulesTexts } from '../texts/rules.ts'
import { Choice, Hint } from './form-frame.tsx'
import { lifecycleProblem } from './form-problems.ts'
import type { LifecycleRuleForm } from './lifecycle-document.ts'
import classes from './rules.module.css'
import { TagRows } from './tag-rows.tsx'

const t = rulesTexts.lifecycle

interface PartProps {
  readonly form: LifecycleRuleForm
  readonly set: (part: Partial<LifecycleRuleForm>) => void
}

type TextField = {
  [K in keyof LifecycleRuleForm]: LifecycleRuleForm[K] extends string ? K : never
}[keyof LifecycleRuleForm]

interface FieldProps extends PartProps {
  readonly of: TextField
  readonly label: string
  readonly hint?: string
  readonly type?: 'number' | 'date'
  readonly isDisabled?: boolean
}

function Field({ form, set, of, label, hint, type, isDisabled }: FieldProps) {
  return (
    <TextInput
      label={label}
      description={hint}
      type={type ?? 'text'}
      value={form[of]}
      disabled={isDisabled ?? false}
      onChange={event => set({ [of]: event.currentTarget.value })}
      autoComplete="off"
    />
  )
}

function Filter({ form, set }: PartProps) {
  return (
    <Fieldset legend={t.applies}>
      <Stack gap="sm">
        <Field {...{ form, set }} of="prefix" label={t.prefix} hint={t.prefixHint} />
        <div className={classes.fields}>
          <Field {...{ form, set }} of="largerThan" label={t.largerThan} type="number" />
          <Field {...{ form, set }} of="smallerThan" label={t.smallerThan} type="number" />
        </div>
        <TagRows label={t.tags} tags={form.tags} change={tags => set({ tags })} isDisabled={false} />
      </Stack>
    </Fieldset>
  )
}

function Expiry({ form, set, versioning }: PartProps & { readonly versioning: Bucket['versioning'] }) {
  const deletes = form.expiry === 'days' || form.expiry === 'date'
  return (
    <Fieldset legend={t.objects}>
      <Stack gap="sm">
        <Choice
          label={t.expiry}
          value={form.expiry}
          texts={t.expiries}
          onChange={expiry => set({ expiry })}
          isDisabled={false}
        />
        {form.expiry === 'days' && <Field {...{ form, set }} of="days" label={t.days} type="number" />}
        {form.expiry === 'date' && <Field {...{ form, set }} of="date" label={t.date} type="date" />}
        {deletes && versioning !== undefined && <Hint>{t.expiryHint[versioning]}</Hint>}
      </Stack>
    </Fieldset>
  )
}

function Versions({ form, set }: PartProps) {
  return (
    <Fieldset legend={t.versions}>
      <Stack gap="sm">
        <Checkbox
          label={t.noncurrent}
          checked={form.hasNoncurrent}
          onChange={event => set({ hasNoncurrent: event.currentTarget.checked })}
        />
        {form.hasNoncurrent && (
          <div className={classes.fields}>
            <Field {...{ form, set }} of="noncurrentDays" label={t.noncurrentDays} type="number" />
            <Field {...{ form, set }} of="keepNewest" label={t.keepNewest} hint={t.keepNewestHint} type="number" />
          </div>
        )}
      </Stack>
    </Fieldset>
  )
}

interface LifecycleRuleDialogProps {
  readonly versioning: Bucket['versioning']
  readonly initial: LifecycleRuleForm
  readonly apply: (form: LifecycleRuleForm) => void
  readonly close: () => void
}

export function LifecycleRuleDialog({ versioning, initial, apply, close }: LifecycleRuleDialogProps) {
  const [form, setForm] = useState(initial)
  const set = (part: Partial<LifecycleRuleForm>): void => setForm(now => ({ ...now, ...part }))
  const [isTried, setTried] = useState(false)
  const problem = lifecycleProblem(form)
  const isNarrow = form.tags.length > 0 || form.largerThan !== '' || form.smallerThan !== ''
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    setTried(true)
    if (problem === undefined) apply(form)
  }
  return (
    <Dialog title={t.dialog} close={close} size="lg">
      <form onSubmit={submit} noValidate>
        <Stack>
          <Field {...{ form, set }} of="id" label={t.name} hint={t.nameHint} />
          <Filter {...{ form, set }} />
          <Expiry {...{ form, set, versioning }} />
          <Versions {...{ form, set }} />
          <Fieldset legend={t.uploads}>
            <Field
              {...{ form, set }}
              of="abortDays"
              label={t.abortDays}
              hint={isNarrow ? t.notWithFilter : t.abortHint}
              type="number"
            />
          </Fieldset>
          <Stack gap={4} aria-live="polite">
            {lifecycleSentences(form).map(sentence => (
              <Text key={sentence} size="sm" className={classes.key}>
                {sentence}
              </Text>
            ))}
          </Stack>
          <WrongValue text={isTried ? problem : undefined} />
          <Hint>{rulesTexts.applyHint}</Hint>
          <DialogButtons close={close}>
            <Button type="submit">{rulesTexts.apply}</Button>
          </DialogButtons>
        </Stack>
      </form>
    </Dialog>
  )
}
