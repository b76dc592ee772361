/** The export of a ledger, and how it is verified without the server. */
import { Button, Code, Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { saveAs } from '../objects/downloads.ts'
import { Icon } from '../parts/icons.tsx'
import { Problem } from '../parts/problem.tsx'
import { Section } from '../parts/section.tsx'
import { ledgerTexts } from '../texts/ledger.ts'
import classes from './ledger-page.module.css'
import { type LedgerVisit, ledgerPages } from './pages.ts'

const t = ledgerTexts.auditor

export function Auditor({ visit, publicKey }: { readonly visit: LedgerVisit; readonly publicKey: string }) {
  const queries = useQueryClient()
  const [read, setRead] = useState(0)
  const file = `${visit.bucket}.ndjson`
  const exporting = useMutation({
    mutationFn: async () => {
      const lines: string[] = []
      let closing = ''
      for await (const page of ledgerPages(queries, visit)) {
        if (lines.length === 0) lines.push(page.header)
        lines.push(...page.lines)
        closing = page.closing
        setRead(lines.length - 1)
      }
      const content = [...lines, closing].map(line => `${line}\n`)
      saveAs(new Blob(content, { type: 'application/x-ndjson' }), file)
    },
  })
  return (
    <Section title={t.title}>
      <Text size="sm">{t.text}</Text>
      <Code block className={classes.command}>{`holdfast ledger verify ${file} --public-key ${publicKey}`}</Code>
      <Text size="sm" c="dimmed">
        {t.since}
      </Text>
      {exporting.error !== null && <Problem error={exporting.error} />}
      <Button
        variant="default"
        leftSection={<Icon name="download" />}
        disabled={exporting.isPending}
        onClick={() => exporting.mutate()}
      >
        {exporting.isPending ? t.exporting(read) : t.export}
      </Button>
    </Section>
  )
}
