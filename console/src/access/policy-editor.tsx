/** Edits a policy: mistakes as one types, offers, starting points, and what it means in words. */
import { Alert, List, NativeSelect, Skeleton, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense, useMemo, useRef } from 'react'
import { call } from '../api/client.ts'
import { useSession } from '../api/session.tsx'
import { useBuckets } from '../api/use-buckets.ts'
import { visibleText } from '../format.ts'
import { Icon } from '../parts/icons.tsx'
import { policyTexts as t } from '../texts/policies.ts'
import { texts } from '../texts/texts.ts'
import { placeOf, syntaxMistake } from './json-places.ts'
import { type PolicyNames, policyCompletions, type Vocabulary } from './policy-completions.ts'
import { templatesFor } from './policy-templates.ts'
import { policyWords } from './policy-words.ts'

const CodeEditor = lazy(() => import('../parts/code-editor.tsx'))

/** The result of the last check and the text that was checked. */
export interface CheckedPolicy {
  readonly text: string
  readonly isValid: boolean
  readonly publicStatements: readonly number[]
}

/** A bucket for its policy, none for the policy of a user. */
export async function checkPolicy(text: string, bucket: string | undefined) {
  const { problems, publicStatements } = await call('CheckPolicy', { document: text, bucket })
  const found = problems.map(({ message, path }) => {
    const place = path.length === 0 ? (syntaxMistake(text) ?? placeOf(text, [])) : placeOf(text, path)
    return { ...place, severity: 'error' as const, message }
  })
  return { problems: found, checked: { text, isValid: found.length === 0, publicStatements } }
}

export function useVocabulary() {
  return useQuery({
    queryKey: ['vocabulary'],
    queryFn: ({ signal }) => call('GetPolicyVocabulary', {}, { signal }),
    staleTime: Number.POSITIVE_INFINITY,
  })
}

/** Accounts and their names are known to administrators alone. */
function usePrincipals(isWanted: boolean): PolicyNames['principals'] {
  const { administrator, account } = useSession()
  const { data } = useQuery({
    queryKey: ['accounts'],
    queryFn: ({ signal }) => call('ListAccounts', {}, { signal }),
    enabled: isWanted && administrator,
  })
  const known = data?.accounts ?? [account]
  return known.map(({ accountId, displayName }) => ({ arn: `arn:aws:iam::${accountId}:root`, label: displayName }))
}

interface PolicyEditorProps {
  readonly label?: string
  readonly bucket: string | undefined
  readonly value: string
  readonly onChange: (value: string) => void
  readonly checked: CheckedPolicy | undefined
  readonly onCheck: (checked: CheckedPolicy) => void
}

export function PolicyEditor({ label = t.editor, bucket, value, onChange, checked, onCheck }: PolicyEditorProps) {
  const { data: vocabulary } = useVocabulary()
  const { buckets } = useBuckets()
  const names: PolicyNames = {
    bucket,
    buckets: buckets.map(({ name }) => name),
    principals: usePrincipals(bucket !== undefined),
  }
  const latest = useRef<{ vocabulary: Vocabulary | undefined; names: PolicyNames }>({ vocabulary, names })
  latest.current = { vocabulary, names }
  const completions = useMemo(
    () =>
      policyCompletions(
        () => latest.current.vocabulary,
        () => latest.current.names,
      ),
    [],
  )
  const lint = async (text: string) => {
    if (text.trim() === '') return []
    const { problems, checked: result } = await checkPolicy(text, bucket)
    onCheck(result)
    return problems
  }
  return (
    <Stack gap="sm" w="100%">
      <TemplateSelect bucket={bucket} onPick={onChange} />
      <Suspense fallback={<Skeleton height={200} aria-label={texts.loading} />}>
        <CodeEditor
          label={label}
          language="json"
          value={value}
          onChange={onChange}
          diagnostics={lint}
          completions={completions}
        />
      </Suspense>
      <Text size="sm" c="dimmed">
        {t.hint}
      </Text>
      {checked?.text === value && <PublicWarning statements={checked.publicStatements} />}
      {checked?.text === value && checked.isValid && <Meaning text={value} />}
    </Stack>
  )
}

function TemplateSelect({ bucket, onPick }: { bucket: string | undefined; onPick: (text: string) => void }) {
  const templates = templatesFor(bucket)
  return (
    <NativeSelect
      label={t.template}
      maw={360}
      value=""
      data={[
        { value: '', label: t.templatePick },
        ...templates.map(({ name }) => ({ value: name, label: t.templates[name] })),
      ]}
      onChange={event => {
        const picked = templates.find(({ name }) => name === event.currentTarget.value)
        if (picked !== undefined) onPick(picked.text)
      }}
    />
  )
}

export function PublicWarning({ statements }: { readonly statements: readonly number[] }) {
  if (statements.length === 0) return null
  return (
    <Alert role="alert" color="red" variant="outline" icon={<Icon name="alert" />} title={t.publicTitle}>
      {t.publicText(statements)}
    </Alert>
  )
}

function Meaning({ text }: { readonly text: string }) {
  return (
    <div>
      <Text fw={600} mb={4}>
        {t.meaning}
      </Text>
      <PolicyWords text={text} />
    </div>
  )
}

export function PolicyWords({ text }: { readonly text: string }) {
  const sentences = policyWords(text)
  if (sentences.length === 0) return <Text size="sm">{t.nothing}</Text>
  return (
    <List size="sm">
      {sentences.map((sentence, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: statements have no other identity.
        <List.Item key={i}>{visibleText(sentence)}</List.Item>
      ))}
    </List>
  )
}
