/** The default retention of a bucket, and turning Object Lock on. */
import { Stack, Text, TextInput } from '@mantine/core'
import { Link, toRules } from '../router.tsx'
import { rulesTexts } from '../texts/rules.ts'
import { Choice, Hint, NothingYet, type RuleFormProps, UnknownElements } from './form-frame.tsx'
import classes from './rules.module.css'
import { type LockFields as Fields, lockElement, NEW_LOCK, readLock } from './small-documents.ts'

const t = rulesTexts.lock

export function LockForm({ bucket, root, change, mayChange }: RuleFormProps) {
  if (root === undefined) {
    const hasVersions = bucket.versioning === 'on'
    const start = (): void => change(lockElement(NEW_LOCK))
    return (
      <NothingYet icon="lock" texts={t} start={t.start} onStart={start} mayChange={mayChange && hasVersions}>
        {!hasVersions && (
          <Text>
            {t.needsVersions} <Link href={toRules(bucket.name, 'versioning')}>{t.toVersioning}</Link>
          </Text>
        )}
      </NothingYet>
    )
  }
  const { form, unknown } = readLock(root)
  const isDisabled = !mayChange || unknown.length > 0
  const set = (part: Partial<Fields>): void => change(lockElement({ ...form, ...part }))
  return (
    <Stack className={classes.whole}>
      <UnknownElements names={unknown} />
      <div className={classes.fields}>
        <Choice
          label={t.mode}
          value={form.mode}
          texts={t.modes}
          onChange={mode => set({ mode })}
          isDisabled={isDisabled}
        />
      </div>
      {form.mode !== '' && (
        <div className={classes.fields}>
          <TextInput
            label={t.period}
            type="number"
            min={1}
            value={form.period}
            disabled={isDisabled}
            onChange={event => set({ period: event.currentTarget.value })}
          />
          <Choice
            label={t.unit}
            value={form.unit}
            texts={t.units}
            onChange={unit => set({ unit })}
            isDisabled={isDisabled}
          />
        </div>
      )}
      <Text>{t.means[form.mode]}</Text>
      <Hint>{t.existing}</Hint>
    </Stack>
  )
}
