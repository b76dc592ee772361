/** The key that signs ledgers, and a word on where trust in it comes from. */
import { Button, CopyButton, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { ledgerTexts } from '../texts/ledger.ts'
import { texts } from '../texts/texts.ts'
import classes from './ledger-page.module.css'
import { canVerify, fingerprintOf } from './verification.ts'

const t = ledgerTexts.key

export function SigningKey({ publicKey }: { readonly publicKey: string }) {
  const { data: fingerprint } = useQuery({
    queryKey: ['fingerprint', publicKey],
    queryFn: () => fingerprintOf(publicKey),
    enabled: canVerify(),
    staleTime: Number.POSITIVE_INFINITY,
  })
  return (
    <>
      <dl className={classes.facts}>
        <dt>{t.publicKey}</dt>
        <dd>{publicKey}</dd>
        {fingerprint !== undefined && (
          <>
            <dt>{t.fingerprint}</dt>
            <dd>{fingerprint}</dd>
          </>
        )}
      </dl>
      <Text size="sm" c="dimmed">
        {t.trust}
      </Text>
      <CopyButton value={publicKey}>
        {({ copied, copy }) => (
          <Button size="xs" variant="default" onClick={copy}>
            {copied ? texts.copied : t.copy}
          </Button>
        )}
      </CopyButton>
    </>
  )
}
