/** Filters the entries of a ledger by text and kind. */
import { Group, NativeSelect, TextInput } from '@mantine/core'
import { useEffect, useState } from 'react'
import { Icon } from '../parts/icons.tsx'
import { navigate, toLedger } from '../router.tsx'
import { ledgerTexts } from '../texts/ledger.ts'
import { type EntryFilter, KINDS, type Kind } from './entry.ts'
import classes from './ledger-page.module.css'

const t = ledgerTexts.one

/** The address follows the filter, so that it can be shared; typing does not fill the history. */
export function FilterFields({ bucket, filter }: { readonly bucket: string; readonly filter: EntryFilter }) {
  const [text, setText] = useState(filter.text)
  const { text: applied, kind } = filter
  useEffect(() => {
    if (text === applied) return
    const timer = setTimeout(() => navigate(toLedger(bucket, { text, kind }), { replace: true }), 250)
    return () => clearTimeout(timer)
  }, [text, applied, kind, bucket])
  const choices = [
    { value: '', label: t.everything },
    ...Object.keys(KINDS).map(value => ({ value, label: t.kinds[value as Kind] })),
  ]
  return (
    <Group>
      <TextInput
        aria-label={t.filter}
        placeholder={t.filter}
        leftSection={<Icon name="search" />}
        value={text}
        onChange={event => setText(event.currentTarget.value)}
        className={classes.search}
      />
      <NativeSelect
        aria-label={t.kind}
        data={choices}
        value={kind ?? ''}
        onChange={event => navigate(toLedger(bucket, { text, kind: event.currentTarget.value || undefined }))}
      />
    </Group>
  )
}
