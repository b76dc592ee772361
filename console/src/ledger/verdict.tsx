/** The result of verifying a ledger. */
import { Button, Group, Progress, Stack, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { call } from '../api/client.ts'
import { exactTimeText } from '../format.ts'
import { Problem } from '../parts/problem.tsx'
import { Link, toLedger } from '../router.tsx'
import { ledgerTexts } from '../texts/ledger.ts'
import { Finding } from './finding.tsx'
import type { VerificationRun } from './use-verification.ts'
import { canVerify, type LedgerHead, type LedgerVerdict } from './verification.ts'

const t = ledgerTexts.verification

interface ServerVerdict {
  readonly entries: number
  readonly problem?: { readonly reason: string }
}

/** The word of the server about itself, for browsers that cannot verify. */
function ServerWord({ bucket }: { readonly bucket: string }) {
  const asking = useMutation({
    mutationFn: async () => (await call('VerifyLedger', { bucket })) as unknown as ServerVerdict,
  })
  const { data } = asking
  return (
    <Stack gap="xs" align="flex-start">
      <Button size="xs" variant="default" loading={asking.isPending} onClick={() => asking.mutate()}>
        {t.askServer}
      </Button>
      {asking.error !== null && <Problem error={asking.error} />}
      {data !== undefined && (
        <Text size="sm" role="status">
          {data.problem ? t.serverBroken(data.problem.reason) : t.serverWhole(data.entries)} {t.serverWord}
        </Text>
      )}
    </Stack>
  )
}

interface FoundProps {
  readonly bucket: string
  readonly verdict: LedgerVerdict
  readonly earlier: LedgerHead | undefined
}

function Broken({ bucket, verdict: { problem, entries } }: FoundProps) {
  const { fault, sequence } = problem!
  return (
    <Finding tone="bad" title={sequence === undefined ? t.broken : t.brokenAt(sequence)}>
      <Text size="sm">
        {t.faults[fault]}
        {sequence !== undefined && entries > 0 && ` ${t.before(entries)}`}
      </Text>
      <Text size="sm">{t.whatNow}</Text>
      {sequence !== undefined && <Link href={toLedger(bucket, { entry: sequence })}>{t.show(sequence)}</Link>}
    </Finding>
  )
}

function Found(props: FoundProps) {
  const { bucket, verdict, earlier } = props
  const { problem, entries, signedAt, isSignatureChecked } = verdict
  if (problem !== undefined) return <Broken {...props} />
  const time = signedAt === undefined ? '' : exactTimeText(new Date(signedAt))
  const [tone, title] = isSignatureChecked ? (['good', t.verified] as const) : (['doubt', t.unsignedTitle] as const)
  return (
    <Finding tone={tone} title={title(entries)}>
      <Text size="sm">
        {isSignatureChecked ? t.verifiedText(time) : t.unsignedText}
        {earlier !== undefined && ` ${t.continues(earlier.entries)}`}
      </Text>
      {!isSignatureChecked && <ServerWord bucket={bucket} />}
    </Finding>
  )
}

interface VerdictProps {
  readonly bucket: string
  readonly total: number
  readonly run: VerificationRun
  readonly start: () => void
  readonly earlier: LedgerHead | undefined
}

export function Verdict({ bucket, total, run: { state, stop }, start, earlier }: VerdictProps) {
  if (!canVerify()) {
    return (
      <Finding tone="doubt" title={t.impossible}>
        <Text size="sm">{t.impossibleText}</Text>
        <ServerWord bucket={bucket} />
      </Finding>
    )
  }
  if (state.kind === 'failed') return <Problem error={state.error} retry={start} />
  if (state.kind === 'done') return <Found {...{ bucket, earlier }} verdict={state.verdict} />
  if (state.kind === 'idle') {
    return (
      <Group>
        <Button onClick={start}>{t.start}</Button>
        <Text size="sm">{t.large(total)}</Text>
      </Group>
    )
  }
  const text = t.running(state.done, state.all)
  return (
    <Stack gap="xs">
      <Text role="status">{text}</Text>
      <Progress value={state.all === 0 ? 0 : (state.done / state.all) * 100} aria-label={text} />
      <Group>
        <Button size="xs" variant="default" onClick={stop}>
          {t.cancel}
        </Button>
      </Group>
    </Stack>
  )
}
