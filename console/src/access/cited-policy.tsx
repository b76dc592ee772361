/** A policy in its own text, with the statement that decides. */
import { Anchor, Skeleton, Stack, Text } from '@mantine/core'
import { lazy, Suspense } from 'react'
import { Link } from '../router.tsx'
import { explainTexts as t } from '../texts/explain.ts'
import { texts } from '../texts/texts.ts'
import classes from './explain.module.css'
import { placeOf } from './json-places.ts'

const CodeEditor = lazy(() => import('../parts/code-editor.tsx'))

interface CitedPolicyProps {
  readonly name: string
  readonly document: string
  /** Index of the statement. */
  readonly statement: number
  /** Where the policy can be changed, if the caller can. */
  readonly href?: string | undefined
}

const lineAt = (text: string, position: number): number => text.slice(0, position).split('\n').length

export function CitedPolicy({ name, document, statement, href }: CitedPolicyProps) {
  const place = placeOf(document, ['Statement', statement])
  return (
    <Stack gap="xs" className={classes.policy}>
      <Suspense fallback={<Skeleton height={160} aria-label={texts.loading} />}>
        <CodeEditor label={t.policyText(name)} language="json" value={document} readOnly highlight={place} />
      </Suspense>
      <Text size="sm">{t.marked(lineAt(document, place.from), lineAt(document, place.to))}</Text>
      {href !== undefined && (
        <Anchor component={Link} href={href} size="sm">
          {t.change}
        </Anchor>
      )}
    </Stack>
  )
}
