/** A bucket in which nothing can be held, and what to do about it. */
import { Button } from '@mantine/core'
import { EmptyState } from '../parts/empty-state.tsx'
import { navigate, toRules } from '../router.tsx'
import { holdsTexts } from '../texts/holds.ts'

const t = holdsTexts.noLock

export function NoLock({ bucket }: { readonly bucket: string }) {
  return (
    <EmptyState icon="lock" title={t.title} text={t.text}>
      <Button onClick={() => navigate(toRules(bucket, 'lock'))}>{t.toRules}</Button>
    </EmptyState>
  )
}
