/** The default encryption of a bucket. */
import { Checkbox, Stack, TextInput } from '@mantine/core'
import { rulesTexts } from '../texts/rules.ts'
import { Choice, Hint, NothingYet, type RuleFormProps, UnknownElements } from './form-frame.tsx'
import classes from './rules.module.css'
import {
  encryptionElement,
  type EncryptionFields as Fields,
  NEW_ENCRYPTION,
  readEncryption,
} from './small-documents.ts'

const t = rulesTexts.encryption

export function EncryptionForm({ root, change, mayChange }: RuleFormProps) {
  if (root === undefined) {
    const start = (): void => change(encryptionElement(NEW_ENCRYPTION))
    return <NothingYet icon="lock" texts={t} start={t.start} onStart={start} mayChange={mayChange} />
  }
  const { form, unknown } = readEncryption(root)
  const isDisabled = !mayChange || unknown.length > 0
  const set = (part: Partial<Fields>): void => change(encryptionElement({ ...form, ...part }))
  const hasKey = form.algorithm !== '' && form.algorithm !== 'AES256'
  return (
    <Stack className={classes.whole}>
      <UnknownElements names={unknown} />
      <div className={classes.fields}>
        <Choice
          label={t.algorithm}
          value={form.algorithm}
          texts={t.algorithms}
          onChange={algorithm => set({ algorithm })}
          isDisabled={isDisabled}
        />
        {hasKey && (
          <TextInput
            label={t.keyId}
            description={t.keyIdHint}
            value={form.keyId}
            disabled={isDisabled}
            onChange={event => set({ keyId: event.currentTarget.value })}
            autoComplete="off"
          />
        )}
        {hasKey && (
          <Choice
            label={t.bucketKey}
            description={t.bucketKeyHint}
            value={form.bucketKey}
            texts={t.bucketKeys}
            onChange={bucketKey => set({ bucketKey })}
            isDisabled={isDisabled}
          />
        )}
      </div>
      <Checkbox
        label={t.blocks}
        checked={form.blocksCustomerKeys}
        disabled={isDisabled}
        onChange={event => set({ blocksCustomerKeys: event.currentTarget.checked })}
      />
      <Hint>{t.existing}</Hint>
    </Stack>
  )
}
