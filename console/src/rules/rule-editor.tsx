/**
 * Edits one document of a bucket, as a form or as text. The text is the only state: a form reads it and writes it, so
 * both views always show the same.
 */
import { Button, Group, SegmentedControl, Skeleton, Stack, Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type ComponentType, lazy, Suspense, useState } from 'react'
import { BUCKETS_KEY, type Bucket } from '../api/use-buckets.ts'
import { GuardedButton } from '../parts/guarded-button.tsx'
import { notify } from '../parts/notices.tsx'
import { Problem } from '../parts/problem.tsx'
import { WrongValue } from '../parts/wrong-value.tsx'
import { navigate, type RuleView, toRules } from '../router.tsx'
import { rulesTexts as t } from '../texts/rules.ts'
import { texts } from '../texts/texts.ts'
import { CorsForm } from './cors-form.tsx'
import { EncryptionForm } from './encryption-form.tsx'
import { Hint, type RuleFormProps } from './form-frame.tsx'
import { formProblem } from './form-problems.ts'
import { LifecycleForm } from './lifecycle-form.tsx'
import { LifecyclePreview } from './lifecycle-preview.tsx'
import { LockForm } from './lock-form.tsx'
import { LoggingForm } from './logging-form.tsx'
import {
  documentKey,
  type RulePermissions,
  readDocument,
  removeDocument,
  saveDocument,
  useDocument,
  useDraft,
} from './rule-documents.ts'
import type { DocumentKind, RemovableKind } from './rule-kinds.ts'
import classes from './rules.module.css'
import { needsConfirmation, RemoveDialog, SaveDialog } from './save-dialogs.tsx'
import { TagsForm } from './tags-form.tsx'
import { WebsiteForm } from './website-form.tsx'
import { BadXmlText, parseXmlText, type XmlElement, xmlText } from './xml-text.ts'

const CodeEditor = lazy(() => import('../parts/code-editor.tsx'))

const FORMS: Readonly<Record<DocumentKind, ComponentType<RuleFormProps>>> = {
  lifecycle: LifecycleForm,
  lock: LockForm,
  encryption: EncryptionForm,
  cors: CorsForm,
  website: WebsiteForm,
  logging: LoggingForm,
  tags: TagsForm,
}

const ROOTS: Readonly<Record<DocumentKind, string>> = {
  lifecycle: 'LifecycleConfiguration',
  lock: 'ObjectLockConfiguration',
  encryption: 'ServerSideEncryptionConfiguration',
  cors: 'CORSConfiguration',
  website: 'WebsiteConfiguration',
  logging: 'BucketLoggingStatus',
  tags: 'Tagging',
}

/** The element of a text, or the reason why a form cannot show it. */
function parsed(text: string, kind: DocumentKind): { readonly root?: XmlElement; readonly problem?: string } {
  if (text.trim() === '') return {}
  try {
    const root = parseXmlText(text)
    return root.name === ROOTS[kind] ? { root } : { problem: t.wrongRoot(root.name, ROOTS[kind]) }
  } catch (error) {
    if (error instanceof BadXmlText) return { problem: t.atLine(error.line, t.malformed[error.problem]) }
    throw error
  }
}

/** For the editor: the place of what is malformed. */
async function problemsIn(text: string) {
  try {
    if (text.trim() !== '') parseXmlText(text)
    return []
  } catch (error) {
    if (!(error instanceof BadXmlText)) throw error
    const before = text.split('\n').slice(0, error.line - 1)
    const from = before.reduce((sum, line) => sum + line.length + 1, 0)
    const end = text.indexOf('\n', from)
    const to = end < 0 ? text.length : end
    return [{ from, to, severity: 'error' as const, message: t.malformed[error.problem] }]
  }
}

interface RuleEditorProps {
  readonly bucket: Bucket
  readonly kind: DocumentKind
  readonly view: RuleView
  readonly permissions: RulePermissions
}

function useChanges({ bucket: { name }, kind, permissions }: RuleEditorProps, done: () => void) {
  const queries = useQueryClient()
  const finish = async (inForce: string | null, notice: string): Promise<void> => {
    queries.setQueryData(documentKey(name, kind), inForce)
    done()
    notify(notice)
    await queries.invalidateQueries({ queryKey: BUCKETS_KEY })
  }
  const saving = useMutation({
    mutationFn: async (text: string) => {
      await saveDocument(name, kind, text)
      return permissions.read.isRefused ? text : readDocument(name, kind)
    },
    onSuccess: inForce => finish(inForce, t.saved(t.kinds[kind])),
  })
  const removal = useMutation({
    mutationFn: (removed: RemovableKind) => removeDocument(name, removed),
    onSuccess: () => finish(null, t.removed(t.kinds[kind])),
  })
  return { saving, removal }
}

interface DocumentViewProps extends RuleEditorProps {
  readonly text: string
  readonly change: (text: string) => void
}

function DocumentView({ kind, permissions, text, change }: DocumentViewProps) {
  return (
    <Stack gap={4} className={classes.whole}>
      <Hint>{t.documentHint}</Hint>
      <Suspense fallback={<Skeleton height={160} aria-label={texts.loading} />}>
        <CodeEditor
          label={t.documentOf(t.kinds[kind])}
          language="xml"
          value={text}
          readOnly={permissions.write.isRefused}
          onChange={change}
          diagnostics={problemsIn}
        />
      </Suspense>
    </Stack>
  )
}

function FormView({ bucket, kind, permissions, text, change }: DocumentViewProps) {
  const Form = FORMS[kind]
  const { root, problem } = parsed(text, kind)
  if (problem !== undefined) return <Text role="alert">{t.notForm(problem)}</Text>
  return (
    <Form
      bucket={bucket}
      root={root}
      change={changed => change(changed === undefined ? '' : xmlText(changed))}
      mayChange={!permissions.write.isRefused}
    />
  )
}

function ViewSwitch({ bucket, kind, view }: RuleEditorProps) {
  return (
    <SegmentedControl
      aria-label={t.views.label}
      value={view}
      data={[
        { value: 'form', label: t.views.form },
        { value: 'document', label: t.views.document },
      ]}
      onChange={chosen => navigate(toRules(bucket.name, kind, chosen as RuleView), { replace: true })}
    />
  )
}

export function RuleEditor(props: RuleEditorProps) {
  const { bucket, kind, view, permissions } = props
  const [draft, setDraft] = useDraft(bucket.name, kind)
  const [dialog, setDialog] = useState<'remove' | 'save'>()
  const { data: inForce, error, refetch } = useDocument(bucket, kind, !permissions.read.isRefused)
  const { saving, removal } = useChanges(props, () => {
    setDraft(undefined)
    setDialog(undefined)
  })
  if (error !== null) return <Problem error={error} retry={() => void refetch()} />
  if (inForce === undefined) return <Skeleton height={200} aria-label={texts.loading} />
  const text = draft ?? inForce ?? ''
  const isChanged = text !== (inForce ?? '')
  const change = (changed: string | undefined): void => {
    saving.reset()
    setDraft(changed)
  }
  const removable = inForce === null || kind === 'lock' ? undefined : kind
  const save = (): void => {
    if (removable !== undefined && text.trim() === '') setDialog('remove')
    else if (needsConfirmation(bucket, kind, parsed(text, kind).root)) setDialog('save')
    else saving.mutate(text)
  }
  const problem = formProblem(kind, parsed(text, kind).root)
  const shown = { ...props, text, change }
  return (
    <Stack className={`${classes.whole} ${classes.editor}`} align="flex-start">
      <ViewSwitch {...props} />
      {permissions.write.isRefused && <Hint>{t.refusedWrite}</Hint>}
      {view === 'document' ? <DocumentView {...shown} /> : <FormView {...shown} />}
      <WrongValue text={isChanged ? problem : undefined} />
      {saving.error !== null && <Problem error={saving.error} />}
      <Group gap="sm" role="group" aria-label={t.save}>
        <GuardedButton
          permission={permissions.write}
          disabled={(!isChanged || problem !== undefined) && !permissions.write.isRefused}
          loading={saving.isPending}
          onClick={save}
        >
          {t.save}
        </GuardedButton>
        {isChanged && (
          <Button variant="default" onClick={() => change(undefined)}>
            {t.discard}
          </Button>
        )}
        {removable !== undefined && (
          <GuardedButton permission={permissions.remove} variant="default" onClick={() => setDialog('remove')}>
            {t.removal[removable].button}
          </GuardedButton>
        )}
      </Group>
      {isChanged && <Hint>{t.unsaved}</Hint>}
      {kind === 'lifecycle' && text !== '' && <LifecyclePreview bucket={bucket.name} document={text} />}
      {dialog === 'remove' && removable !== undefined && (
        <RemoveDialog kind={removable} removal={removal} close={() => setDialog(undefined)} />
      )}
      {dialog === 'save' && (
        <SaveDialog
          {...{ bucket, kind }}
          root={parsed(text, kind).root}
          isSaving={saving.isPending}
          save={() => saving.mutate(text, { onError: () => setDialog(undefined) })}
          close={() => setDialog(undefined)}
        />
      )}
    </Stack>
  )
}
