/** An auditor's own evidence: the public key, known from elsewhere, and an earlier export. */
import { Button, FileButton, Group, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { visibleText } from '../format.ts'
import { ledgerTexts } from '../texts/ledger.ts'
import { earlierHead } from './earlier-export.ts'
import type { LedgerHead } from './verification.ts'

const t = ledgerTexts.verification
const PUBLIC_KEY = /^[0-9a-f]{64}$/

interface ExpectationsProps {
  readonly bucket: string
  /** Verifies again with what is known now. */
  readonly verify: (publicKey: string, earlier: LedgerHead | undefined) => void
}

export function Expectations({ bucket, verify }: ExpectationsProps) {
  const [publicKey, setPublicKey] = useState('')
  const [earlier, setEarlier] = useState<{ readonly name: string; readonly head: LedgerHead | undefined }>()
  const known = publicKey.replaceAll(/\s/g, '').toLowerCase()
  // A slip of the pen must not look like a ledger that somebody changed.
  const isWrong = known !== '' && !PUBLIC_KEY.test(known)
  const compare = async (file: File | null): Promise<void> => {
    if (file === null) return
    const head = await earlierHead(bucket, await file.text())
    setEarlier({ name: visibleText(file.name), head })
    if (head !== undefined && !isWrong) verify(known, head)
  }
  return (
    <form
      onSubmit={event => {
        event.preventDefault()
        if (!isWrong) verify(known, earlier?.head)
      }}
    >
      <TextInput
        label={t.known}
        description={t.knownHint}
        error={isWrong ? t.knownWrong : undefined}
        value={publicKey}
        onChange={event => setPublicKey(event.currentTarget.value)}
        autoComplete="off"
        spellCheck={false}
        mb="sm"
      />
      <Group gap="xs">
        <Button type="submit" size="xs" variant="default">
          {t.again}
        </Button>
        <FileButton accept=".ndjson,.json,.txt" onChange={file => void compare(file)}>
          {props => (
            <Button {...props} size="xs" variant="default">
              {t.earlier}
            </Button>
          )}
        </FileButton>
        {earlier !== undefined && (
          <Text size="sm" role="status">
            {earlier.head === undefined
              ? t.earlierWrong(earlier.name)
              : t.earlierChosen(earlier.name, earlier.head.entries)}
          </Text>
        )}
      </Group>
    </form>
  )
}
