/** The difference of two versions as text. */
import { Skeleton, Text, VisuallyHidden } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { exactTimeText } from '../format.ts'
import type { Version } from '../objects/listing.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Problem } from '../parts/problem.tsx'
import { texts } from '../texts/texts.ts'
import { type DiffLine, lineDifference } from './line-difference.ts'
import { readText, TEXT_BYTES_MAX } from './preview-kind.ts'
import classes from './version-difference.module.css'

const t = texts.versions
const SIGN = { same: ' ', added: '+', removed: '−' } as const

interface VersionDifferenceProps {
  readonly bucket: string
  readonly older: Version
  readonly newer: Version
  readonly close: () => void
}

function Lines({ lines }: { readonly lines: readonly DiffLine[] }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling area must be reachable by keyboard.
    <section className={classes.lines} aria-label={t.difference} tabIndex={0}>
      {lines.map(({ kind, text }, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the lines never change their order.
        <div key={i} className={classes.line} data-kind={kind}>
          <span aria-hidden="true">{SIGN[kind]}</span>
          {kind !== 'same' && <VisuallyHidden>{t[kind]}: </VisuallyHidden>}
          <span>{text}</span>
        </div>
      ))}
    </section>
  )
}

async function compared({ bucket, older, newer }: VersionDifferenceProps): Promise<DiffLine[] | string> {
  if (Math.max(older.size, newer.size) > TEXT_BYTES_MAX) return t.tooLarge(TEXT_BYTES_MAX)
  const [before, after] = await Promise.all(
    [older, newer].map(({ key, versionId, size }) => readText({ bucket, key, versionId }, size)),
  )
  if (`${before}${after}`.includes('\0')) return t.notText
  return before === after ? t.identical : lineDifference(before!, after!)
}

export default function VersionDifference(props: VersionDifferenceProps) {
  const { older, newer, close } = props
  const { data, error } = useQuery({
    queryKey: ['difference', older.key, older.versionId, newer.versionId],
    queryFn: () => compared(props),
  })
  return (
    <Dialog title={t.difference} close={close} size="xl">
      <Text size="sm" mb="sm">
        {t.differenceOf(exactTimeText(older.modifiedAt), exactTimeText(newer.modifiedAt))}
      </Text>
      {error !== null && <Problem error={error} />}
      {data === undefined && error === null && <Skeleton height={160} aria-label={texts.loading} />}
      {typeof data === 'string' && <Text role="status">{data}</Text>}
      {typeof data === 'object' && <Lines lines={data} />}
    </Dialog>
  )
}
