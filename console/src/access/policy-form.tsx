/** An edited policy on its way to being saved: checked, reviewed, confirmed. */
import { Button, Group, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { Problem } from '../parts/problem.tsx'
import { policyTexts as t } from '../texts/policies.ts'
import { texts } from '../texts/texts.ts'
import { type CheckedPolicy, checkPolicy, PolicyEditor } from './policy-editor.tsx'
import { policyText } from './policy-templates.ts'
import { SavePolicyDialog } from './save-policy-dialog.tsx'

interface PolicyFormProps {
  /** Undefined for the policy of a user. */
  readonly bucket: string | undefined
  /** The text in force; empty when there is none. */
  readonly before: string
  /** Asked before the review: whether everything else is filled in. */
  readonly isReady?: () => boolean
  readonly save: (text: string) => Promise<void>
  readonly cancel: () => void
}

/** A policy in one line is hard to read; the meaning is the same. */
export function readablePolicy(text: string): string {
  if (text.includes('\n')) return text
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

export function PolicyForm({ bucket, before, isReady = () => true, save, cancel }: PolicyFormProps) {
  const [text, setText] = useState(before === '' ? policyText([]) : readablePolicy(before))
  const [checked, setChecked] = useState<CheckedPolicy>()
  const [reviewed, setReviewed] = useState<CheckedPolicy>()
  const review = useMutation({
    mutationFn: () => checkPolicy(text, bucket),
    onSuccess: ({ checked: result }) => {
      setChecked(result)
      if (isReady() && result.isValid) setReviewed(result)
    },
  })
  return (
    <>
      <PolicyEditor bucket={bucket} value={text} onChange={setText} checked={checked} onCheck={setChecked} />
      {review.isSuccess && checked?.text === text && !checked.isValid && (
        <Text role="alert" c="var(--mantine-color-error)">
          {t.notValid}
        </Text>
      )}
      {review.error !== null && <Problem error={review.error} />}
      <Group>
        <Button loading={review.isPending} onClick={() => review.mutate()}>
          {t.review}
        </Button>
        <Button variant="default" onClick={cancel}>
          {texts.cancel}
        </Button>
      </Group>
      {reviewed !== undefined && (
        <SavePolicyDialog
          before={before}
          checked={reviewed}
          save={() => save(reviewed.text)}
          close={() => setReviewed(undefined)}
        />
      )}
    </>
  )
}
