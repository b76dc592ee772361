/** Where the access log of a bucket goes. */
import { Button, Code, CopyButton, NativeSelect, Stack, TextInput } from '@mantine/core'
import { type Bucket, useBuckets } from '../api/use-buckets.ts'
import { Link, toBucketAccess } from '../router.tsx'
import { rulesTexts } from '../texts/rules.ts'
import { texts } from '../texts/texts.ts'
import { Hint, NothingYet, type RuleFormProps, UnknownElements } from './form-frame.tsx'
import classes from './rules.module.css'
import { type LoggingFields as Fields, loggingElement, readLogging } from './small-documents.ts'
import { element, leaf } from './xml-text.ts'

const t = rulesTexts.logging

/** The statement that the policy of the target must contain. */
const statementFor = ({ target, prefix }: Fields): string =>
  JSON.stringify(
    {
      Effect: 'Allow',
      Principal: { Service: 'logging.s3.amazonaws.com' },
      Action: 's3:PutObject',
      Resource: `arn:aws:s3:::${target}/${prefix}*`,
    },
    null,
    2,
  )

/** A log about its own delivery would never end, and the server refuses the bucket of another owner. */
const targetsFor = (bucket: Bucket, buckets: readonly Bucket[], chosen: string): string[] => {
  const fit = buckets.filter(({ name, owner }) => owner === bucket.owner && name !== bucket.name)
  return [...new Set([...(chosen === '' ? [] : [chosen]), ...fit.map(({ name }) => name)])]
}

/** An element without a target would be the document of a bucket that writes no log. */
const unfinished = element(
  'BucketLoggingStatus',
  element('LoggingEnabled', leaf('TargetBucket', ''), leaf('TargetPrefix', '')),
)

export function LoggingForm({ bucket, root, change, mayChange }: RuleFormProps) {
  const { buckets } = useBuckets()
  if (root === undefined || root.children.length === 0) {
    const start = (): void => change(unfinished)
    return <NothingYet icon="file" texts={t} start={t.start} onStart={start} mayChange={mayChange} />
  }
  const { form, unknown } = readLogging(root)
  const isDisabled = !mayChange || unknown.length > 0
  const set = (part: Partial<Fields>): void => {
    const changed = { ...form, ...part }
    change(changed.target === '' ? unfinished : loggingElement(changed))
  }
  const targets = targetsFor(bucket, buckets, form.target)
  return (
    <Stack className={classes.whole}>
      <UnknownElements names={unknown} />
      <div className={classes.fields}>
        <NativeSelect
          label={t.target}
          description={t.targetHint}
          value={form.target}
          disabled={isDisabled}
          data={[{ value: '', label: t.choose }, ...targets]}
          onChange={event => set({ target: event.currentTarget.value })}
        />
        <TextInput
          label={t.prefix}
          description={t.prefixHint}
          value={form.prefix}
          disabled={isDisabled || form.target === ''}
          onChange={event => set({ prefix: event.currentTarget.value })}
        />
      </div>
      <Hint>{t.grant}</Hint>
      {form.target !== '' && (
        <figure className={classes.group}>
          <Hint>
            {t.statement} <Link href={toBucketAccess(form.target)}>{t.toPolicy(form.target)}</Link>
          </Hint>
          <Code block className={classes.statement}>
            {statementFor(form)}
          </Code>
          <CopyButton value={statementFor(form)}>
            {({ copied, copy }) => (
              <Button size="xs" variant="default" onClick={copy}>
                {copied ? texts.copied : t.copyStatement}
              </Button>
            )}
          </CopyButton>
        </figure>
      )}
    </Stack>
  )
}
