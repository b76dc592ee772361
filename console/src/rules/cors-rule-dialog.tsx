/** The dialog for one CORS rule. It writes into the document; saving is a step of its own. */
import { Button, Checkbox, Group, Stack, Textarea, TextInput } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import { Dialog } from '../parts/dialog.tsx'
import { DialogButtons } from '../parts/dialog-buttons.tsx'
import { rulesTexts } from '../texts/rules.ts'
import { CORS_METHODS, type CorsRuleForm } from './cors-document.ts'
import { Hint } from './form-frame.tsx'

const t = rulesTexts.cors

const linesOf = (text: string): string[] =>
  text
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '')

interface LinesProps {
  readonly label: string
  readonly hint: string
  readonly initial: readonly string[]
  readonly onChange: (lines: readonly string[]) => void
  readonly error?: string | undefined
  readonly isFirst?: boolean
}

/** Keeps the text as typed: an empty line in the middle of typing is no value. */
function Lines({ label, hint, initial, onChange, error, isFirst }: LinesProps) {
  const [text, setText] = useState(initial.join('\n'))
  const type = (typed: string): void => {
    setText(typed)
    onChange(linesOf(typed))
  }
  return (
    <Textarea
      label={label}
      description={hint}
      error={error}
      value={text}
      rows={3}
      spellCheck={false}
      onChange={event => type(event.currentTarget.value)}
      {...(isFirst ? { 'data-autofocus': true } : {})}
    />
  )
}

interface CorsRuleDialogProps {
  readonly initial: CorsRuleForm
  readonly apply: (form: CorsRuleForm) => void
  readonly close: () => void
}

export function CorsRuleDialog({ initial, apply, close }: CorsRuleDialogProps) {
  const [form, setForm] = useState(initial)
  const set = (part: Partial<CorsRuleForm>): void => setForm(now => ({ ...now, ...part }))
  const [isChecked, setChecked] = useState(false)
  const noOrigin = form.origins.length === 0
  const noMethod = form.methods.length === 0
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    setChecked(true)
    if (!noOrigin && !noMethod) apply(form)
  }
  return (
    <Dialog title={t.dialog} close={close} size="lg">
      <form onSubmit={submit} noValidate>
        <Stack>
          <Lines
            label={t.origins}
            hint={t.originsHint}
            initial={form.origins}
            onChange={origins => set({ origins })}
            error={isChecked && noOrigin ? t.originsNeeded : undefined}
            isFirst
          />
          <Checkbox.Group
            label={t.methods}
            value={[...form.methods]}
            onChange={methods => set({ methods })}
            error={isChecked && noMethod ? t.methodsNeeded : undefined}
          >
            <Group gap="md" mt={4}>
              {CORS_METHODS.map(method => (
                <Checkbox key={method} value={method} label={method} />
              ))}
            </Group>
          </Checkbox.Group>
          <Lines label={t.headers} hint={t.headersHint} initial={form.headers} onChange={headers => set({ headers })} />
          <Lines label={t.exposed} hint={t.exposedHint} initial={form.exposed} onChange={exposed => set({ exposed })} />
          <TextInput
            label={t.maxAge}
            type="number"
            value={form.maxAge}
            onChange={event => set({ maxAge: event.currentTarget.value })}
          />
          <TextInput
            label={t.name}
            description={t.nameHint}
            value={form.id}
            onChange={event => set({ id: event.currentTarget.value })}
            autoComplete="off"
          />
          <Hint>{rulesTexts.applyHint}</Hint>
          <DialogButtons close={close}>
            <Button type="submit">{rulesTexts.apply}</Button>
          </DialogButtons>
        </Stack>
      </form>
    </Dialog>
  )
}
