/** Tells whether the rules, saved or not, let a page of some origin send a request. */
import { NativeSelect, Stack, Text, TextInput, Title } from '@mantine/core'
import { useState } from 'react'
import { rulesTexts } from '../texts/rules.ts'
import { allowingRule, CORS_METHODS, type CorsRuleForm } from './cors-document.ts'
import classes from './rules.module.css'

const t = rulesTexts.cors

interface CorsCheckProps {
  readonly rules: readonly CorsRuleForm[]
  readonly names: readonly string[]
}

export function CorsCheck({ rules, names }: CorsCheckProps) {
  const [origin, setOrigin] = useState('')
  const [method, setMethod] = useState<string>('GET')
  const [headers, setHeaders] = useState('')
  const sent = headers
    .split(',')
    .map(header => header.trim())
    .filter(header => header !== '')
  const found = allowingRule(rules, { origin: origin.trim(), method, headers: sent })
  return (
    <Stack gap="xs" className={classes.whole}>
      <Title order={3} size="h5">
        {t.check}
      </Title>
      <div className={classes.fields}>
        <TextInput
          label={t.checkOrigin}
          placeholder="https://app.example.com"
          value={origin}
          onChange={event => setOrigin(event.currentTarget.value)}
        />
        <NativeSelect
          label={t.checkMethod}
          value={method}
          data={[...CORS_METHODS]}
          onChange={event => setMethod(event.currentTarget.value)}
        />
      </div>
      <div className={classes.fields}>
        <TextInput label={t.checkHeaders} value={headers} onChange={event => setHeaders(event.currentTarget.value)} />
      </div>
      <Text role="status">{origin === '' ? '' : found < 0 ? t.refused : t.allowed(names[found]!)}</Text>
    </Stack>
  )
}
