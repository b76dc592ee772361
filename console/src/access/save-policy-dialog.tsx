/** Explains a change of a policy before it is saved. */
import { Button, Group, List, Stack, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { visibleText } from '../format.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Problem } from '../parts/problem.tsx'
import { policyTexts as t } from '../texts/policies.ts'
import { texts } from '../texts/texts.ts'
import { type CheckedPolicy, PublicWarning } from './policy-editor.tsx'
import { changeOfMeaning, policyWords } from './policy-words.ts'

function Sentences({ title, sentences }: { readonly title: string; readonly sentences: readonly string[] }) {
  if (sentences.length === 0) return null
  return (
    <div>
      <Text fw={600} size="sm">
        {title}
      </Text>
      <List size="sm">
        {sentences.map(sentence => (
          <List.Item key={sentence}>{visibleText(sentence)}</List.Item>
        ))}
      </List>
    </div>
  )
}

interface SavePolicyProps {
  /** The text in force; empty when there is none. */
  readonly before: string
  readonly checked: CheckedPolicy
  readonly save: () => Promise<void>
  readonly close: () => void
}

export function SavePolicyDialog({ before, checked, save, close }: SavePolicyProps) {
  const { added, removed } = changeOfMeaning(policyWords(before), policyWords(checked.text))
  const saving = useMutation({ mutationFn: save })
  return (
    <Dialog title={t.reviewTitle} close={close} size="lg">
      <Stack>
        {saving.error !== null && <Problem error={saving.error} />}
        <PublicWarning statements={checked.publicStatements} />
        <Sentences title={t.added} sentences={added} />
        <Sentences title={t.removed} sentences={removed} />
        {added.length + removed.length === 0 && <Text>{t.unchanged}</Text>}
        <Group justify="flex-end">
          <Button variant="default" onClick={close}>
            {texts.cancel}
          </Button>
          <Button
            color={checked.publicStatements.length > 0 ? 'red' : undefined}
            loading={saving.isPending}
            onClick={() => saving.mutate()}
          >
            {t.save}
          </Button>
        </Group>
      </Stack>
    </Dialog>
  )
}
