/** Reads and changes the documents of a bucket. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../api/client.ts'
import { type Permission, permissionOf } from '../api/permissions.ts'
import type { Bucket } from '../api/use-buckets.ts'
import { send, sendDocument } from '../objects/request.ts'
import { type DocumentKind, RULE_ACCESS, RULE_KINDS, type RuleKind, SUB_RESOURCES } from './rule-kinds.ts'
import { element, parseXmlText, xmlText } from './xml-text.ts'

export const documentKey = (bucket: string, kind: DocumentKind) => ['rules', bucket, kind] as const

/**
 * Unsaved edits. The query cache holds them beyond the page, so that a look elsewhere loses nothing. The form reads
 * them from its own state: the cache notifies late, and a controlled input would fall back in between.
 */
export function useDraft(bucket: string, kind: DocumentKind) {
  const queries = useQueryClient()
  const queryKey = ['rule-draft', bucket, kind]
  const [draft, keep] = useState(() => queries.getQueryData<string>(queryKey))
  const setDraft = (changed: string | undefined): void => {
    keep(changed)
    if (changed === undefined) queries.removeQueries({ queryKey })
    else queries.setQueryData(queryKey, changed)
  }
  return [draft, setDraft] as const
}

/** The document in force, one element per line; null when there is none. */
export function useDocument(bucket: Bucket, kind: DocumentKind, mayRead: boolean) {
  return useQuery({
    queryKey: documentKey(bucket.name, kind),
    queryFn: ({ signal }) => (isSet(bucket, kind) ? readDocument(bucket.name, kind, signal) : null),
    enabled: mayRead,
  })
}

/** Asked first: a browser reports every document that is missing as an error of the page. */
export const isSet = ({ documents, lockEnabled }: Bucket, kind: DocumentKind): boolean =>
  kind === 'lock' ? lockEnabled === true : documents.includes(SUB_RESOURCES[kind])

export async function readDocument(bucket: string, kind: DocumentKind, signal?: AbortSignal): Promise<string> {
  const response = await send({ method: 'GET', bucket, query: { [SUB_RESOURCES[kind]]: '' } }, { signal })
  const root = parseXmlText(await response.text())
  // The namespace says nothing to a reader, and the server adds it again.
  return xmlText({ ...root, attributes: [] })
}

export async function saveDocument(bucket: string, kind: DocumentKind, text: string): Promise<void> {
  await sendDocument({ method: 'PUT', bucket, query: { [SUB_RESOURCES[kind]]: '' } }, text)
}

/** The log has no request of its own for that: an empty document ends it. */
export async function removeDocument(bucket: string, kind: DocumentKind): Promise<void> {
  if (kind === 'logging') await saveDocument(bucket, kind, xmlText(element('BucketLoggingStatus')))
  else await send({ method: 'DELETE', bucket, query: { [SUB_RESOURCES[kind]]: '' } })
}

export interface RulePermissions {
  readonly read: Permission
  readonly write: Permission
  readonly remove: Permission
}

/** Undefined until it is known: a request that is refused would be reported as an error of the page. */
export function useRulePermissions(bucket: string) {
  return useQuery({
    queryKey: ['rule-permissions', bucket],
    queryFn: async ({ signal }) => {
      const actions = RULE_KINDS.flatMap(kind => {
        const { read, write, remove = write } = RULE_ACCESS[kind]
        return [read, write, remove]
      })
      const { answers } = await call(
        'GetPermissions',
        { questions: actions.map(action => ({ action, bucket })) },
        { signal },
      )
      const permissions = answers.map(permissionOf)
      const ofKind = (_: RuleKind, i: number): RulePermissions => {
        const [read, write, remove] = permissions.slice(i * 3, i * 3 + 3)
        return { read: read!, write: write!, remove: remove! }
      }
      return Object.fromEntries(RULE_KINDS.map((kind, i) => [kind, ofKind(kind, i)])) as Record<
        RuleKind,
        RulePermissions
      >
    },
    staleTime: 60_000,
  })
}
