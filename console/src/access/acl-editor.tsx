/** The ACL of a bucket or an object: its grants as a form, and the document. */
import { Badge, Button, Checkbox, NativeSelect, Skeleton, Stack, Text, TextInput } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { lazy, Suspense, useState } from 'react'
import type { Permission } from '../api/permissions.ts'
import { useSession } from '../api/session.tsx'
import { visibleText } from '../format.ts'
import { GuardedButton } from '../parts/guarded-button.tsx'
import { notify } from '../parts/notices.tsx'
import { Problem } from '../parts/problem.tsx'
import { bucketAccessTexts as t } from '../texts/bucket-access.ts'
import { texts } from '../texts/texts.ts'
import classes from './access.module.css'
import { type Acl, type AclPlace, aclXml, isPublicGrant, readAcl, writeAcl } from './acl.ts'
import { type AclProblem, type Grant, grantsIn, isSameGrant } from './acl-document.ts'
import { useBucketsAgain } from './bucket-documents.ts'
import { useAccounts } from './identity-queries.ts'

const CodeEditor = lazy(() => import('../parts/code-editor.tsx'))
const CANONICAL_ID = /^[0-9a-f]{64}$/
const ACCOUNT = 'account'

const granteeText = ({ kind, value, name }: Grant): string =>
  kind === 'group' ? (t.grantees[value] ?? value) : visibleText(name ?? value)

const permissionText = (permission: string): string => t.permissions[permission] ?? permission

function GrantRow({ grant, remove }: { readonly grant: Grant; readonly remove: () => void }) {
  const who = granteeText(grant)
  return (
    <li className={classes.row}>
      <div className={classes.what}>
        <Text>{who}</Text>
        <Text size="sm" c="dimmed">
          {permissionText(grant.permission)}
        </Text>
      </div>
      {isPublicGrant(grant) && (
        <Badge color="red" variant="filled" title={t.publicGrant}>
          {t.public}
        </Badge>
      )}
      <Button
        size="xs"
        variant="default"
        aria-label={t.removeGrant(permissionText(grant.permission), who)}
        onClick={remove}
      >
        {t.remove}
      </Button>
    </li>
  )
}

function AddGrant({ add }: { readonly add: (grant: Grant) => void }) {
  const { administrator } = useSession()
  const { data } = useAccounts(administrator)
  const [who, setWho] = useState<string>(ACCOUNT)
  const [permission, setPermission] = useState('READ')
  const [typed, setTyped] = useState('')
  const [isTried, setTried] = useState(false)
  const known = data?.accounts ?? []
  const id = typed.trim()
  const isWrong = who === ACCOUNT && !CANONICAL_ID.test(id)
  const submit = (): void => {
    setTried(true)
    if (isWrong) return
    const name = known.find(({ canonicalId }) => canonicalId === id)?.displayName
    add(who === ACCOUNT ? { kind: 'account', value: id, name, permission } : { kind: 'group', value: who, permission })
    setTyped('')
    setTried(false)
  }
  const groups = Object.entries(t.grantees).map(([value, label]) => ({ value, label }))
  return (
    <div className={classes.form}>
      <NativeSelect
        label={t.grantee}
        data={[{ value: ACCOUNT, label: t.account }, ...groups]}
        value={who}
        onChange={event => setWho(event.currentTarget.value)}
      />
      {who === ACCOUNT &&
        (known.length > 0 ? (
          <NativeSelect
            label={t.accountName}
            data={[
              { value: '', label: t.chooseAccount },
              ...known.map(({ canonicalId, displayName }) => ({ value: canonicalId, label: displayName })),
            ]}
            error={isTried && isWrong ? t.accountIdWrong : undefined}
            value={typed}
            onChange={event => setTyped(event.currentTarget.value)}
          />
        ) : (
          <TextInput
            label={t.accountId}
            description={t.accountIdHint}
            error={isTried && isWrong ? t.accountIdWrong : undefined}
            value={typed}
            onChange={event => setTyped(event.currentTarget.value)}
          />
        ))}
      <NativeSelect
        label={t.permission}
        data={Object.entries(t.permissions).map(([value, label]) => ({ value, label }))}
        value={permission}
        onChange={event => setPermission(event.currentTarget.value)}
      />
      <Button variant="default" onClick={submit}>
        {t.addGrant}
      </Button>
    </div>
  )
}

const problemText = (problem: AclProblem): string =>
  problem.kind === 'malformed' ? t.aclMalformed(problem.line) : t.aclProblems[problem.kind]

interface DocumentProps {
  readonly text: string
  readonly problem: AclProblem | undefined
  readonly change: (text: string) => void
}

function Document({ text, problem, change }: DocumentProps) {
  const [isShown, setShown] = useState(false)
  return (
    <>
      <Checkbox label={t.document} checked={isShown} onChange={event => setShown(event.currentTarget.checked)} />
      {isShown && (
        <Suspense fallback={<Skeleton height={160} aria-label={texts.loading} />}>
          <CodeEditor label={t.documentLabel} language="xml" value={text} onChange={change} />
        </Suspense>
      )}
      {problem !== undefined && (
        <Text role="alert" size="sm" c="var(--mantine-color-error)">
          {problemText(problem)}
        </Text>
      )}
    </>
  )
}

/** The grants as a list and as a text that is being typed, which may not be a document at the moment. */
function useGrants(acl: Acl) {
  const [grants, setGrants] = useState(acl.grants)
  const [typed, setTyped] = useState<string>()
  const reading = typed === undefined ? undefined : grantsIn(typed)
  const setAll = (changed: readonly Grant[]): void => {
    setTyped(undefined)
    setGrants(changed)
  }
  const edit = (text: string): void => {
    const read = grantsIn(text)
    setTyped(text)
    if ('grants' in read) setGrants(read.grants)
  }
  const problem = reading !== undefined && 'problem' in reading ? reading.problem : undefined
  return { grants, setAll, text: typed ?? aclXml({ ...acl, grants }), edit, problem }
}

function Form({ place, acl, permission }: { place: AclPlace; acl: Acl; permission: Permission }) {
  const { grants, setAll, text, edit, problem } = useGrants(acl)
  const queries = useQueryClient()
  const readAgain = useBucketsAgain()
  const changed = { ...acl, grants }
  const isChanged = aclXml(changed) !== aclXml(acl)
  const saving = useMutation({
    mutationFn: () => writeAcl(place, changed),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['acl'] })
      await readAgain()
      notify(t.aclSaved)
    },
  })
  const add = (grant: Grant): void => {
    if (!grants.some(one => isSameGrant(one, grant))) setAll([...grants, grant])
  }
  return (
    <Stack w="100%" gap="sm">
      <Text size="sm">{t.owner(visibleText(acl.owner.name ?? acl.owner.id))}</Text>
      {grants.length === 0 && <Text>{t.noGrants}</Text>}
      <ul className={classes.rows} aria-label={t.grants}>
        {grants.map(grant => (
          <GrantRow
            key={`${grant.value} ${grant.permission}`}
            grant={grant}
            remove={() => setAll(grants.filter(one => one !== grant))}
          />
        ))}
      </ul>
      <AddGrant add={add} />
      <Document text={text} problem={problem} change={edit} />
      {saving.error !== null && <Problem error={saving.error} />}
      <div>
        <GuardedButton
          permission={permission}
          disabled={(!isChanged || problem !== undefined) && !permission.isRefused}
          loading={saving.isPending}
          onClick={() => saving.mutate()}
        >
          {t.saveAcl}
        </GuardedButton>
      </div>
    </Stack>
  )
}

export function AclEditor({ place, permission }: { readonly place: AclPlace; readonly permission: Permission }) {
  const { bucket, key, versionId } = place
  const { data, error, dataUpdatedAt, refetch } = useQuery({
    queryKey: ['acl', bucket, key ?? '', versionId ?? ''],
    queryFn: ({ signal }) => readAcl(place, signal),
  })
  if (error !== null) return <Problem error={error} retry={() => void refetch()} />
  if (data === undefined) return <Skeleton height={120} aria-label={texts.loading} />
  return <Form key={dataUpdatedAt} place={place} acl={data} permission={permission} />
}
