/** The tags of a bucket. */
import { rulesTexts } from '../texts/rules.ts'
import { NothingYet, type RuleFormProps, UnknownElements } from './form-frame.tsx'
import type { TagPairs } from './lifecycle-document.ts'
import { bucketTagsElement, readBucketTags } from './small-documents.ts'
import { TagRows } from './tag-rows.tsx'

const t = rulesTexts.tags

export function TagsForm({ root, change, mayChange }: RuleFormProps) {
  const set = (tags: TagPairs): void => change(tags.length === 0 ? undefined : bucketTagsElement(tags))
  if (root === undefined) {
    const start = (): void => set([['', '']])
    return <NothingYet icon="file" texts={t} start={t.start} onStart={start} mayChange={mayChange} />
  }
  const { form, unknown } = readBucketTags(root)
  return (
    <>
      <UnknownElements names={unknown} />
      <TagRows label={t.label} tags={form} change={set} isDisabled={!mayChange || unknown.length > 0} />
    </>
  )
}
