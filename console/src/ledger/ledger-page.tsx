/** One ledger: verified in the browser, readable, and exported for an auditor. */
import { Button, Skeleton, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { visibleText } from '../format.ts'
import { EmptyState } from '../parts/empty-state.tsx'
import { Icon } from '../parts/icons.tsx'
import { PageHead } from '../parts/page-head.tsx'
import { Problem } from '../parts/problem.tsx'
import { Section } from '../parts/section.tsx'
import { Link, toLedgers } from '../router.tsx'
import { ledgerTexts } from '../texts/ledger.ts'
import { texts } from '../texts/texts.ts'
import { Auditor } from './auditor.tsx'
import { type EntryFilter, STORE } from './entry.ts'
import { EntryList } from './entry-list.tsx'
import { Expectations } from './expectations.tsx'
import { FilterFields } from './filter-fields.tsx'
import classes from './ledger-page.module.css'
import { type LedgerVisit, ledgerPage } from './pages.ts'
import { SigningKey } from './signing-key.tsx'
import { isFiltering, useSearch } from './use-search.ts'
import { useVerification } from './use-verification.ts'
import { Verdict } from './verdict.tsx'
import { canVerify, type LedgerHead, publicKeyIn } from './verification.ts'

const t = ledgerTexts.one

/** A ledger up to this size is verified at once; a larger one when asked to. */
const ENTRIES_AT_ONCE = 20_000

interface LedgerPageProps {
  readonly bucket: string
  readonly filter: EntryFilter
  readonly entry: number | undefined
}

interface EntriesProps extends LedgerPageProps {
  readonly visit: LedgerVisit
  readonly total: number
  readonly wrong: number | undefined
}

function Entries({ bucket, filter, entry, visit, total, wrong }: EntriesProps) {
  const { found, read, error } = useSearch(visit, filter, total)
  const isFiltered = isFiltering(filter)
  return (
    <>
      <FilterFields key={entry} bucket={bucket} filter={filter} />
      {error !== undefined && <Problem error={error} />}
      <Text size="sm" c="dimmed" role="status">
        {isFiltered ? t.found(found.length, read, total) : t.count(total)}
      </Text>
      {isFiltered && found.length === 0 ? (
        read >= total && <Text>{t.noneFound}</Text>
      ) : (
        <EntryList
          key={isFiltered ? 'found' : 'all'}
          visit={visit}
          count={isFiltered ? found.length : total}
          sequenceAt={isFiltered ? index => found[index]! : index => total - index}
          wrong={wrong}
          shown={isFiltered ? undefined : entry}
        />
      )}
    </>
  )
}

interface LedgerViewProps extends LedgerPageProps {
  readonly visit: LedgerVisit
  readonly header: string
  readonly total: number
}

function LedgerView({ visit, header, total, ...page }: LedgerViewProps) {
  const run = useVerification(visit)
  const [earlier, setEarlier] = useState<LedgerHead>()
  const publicKey = publicKeyIn(header)
  const begin = useRef(run.start)
  useEffect(() => {
    if (canVerify() && total <= ENTRIES_AT_ONCE) begin.current({})
  }, [total])
  const verify = (known: string, head: LedgerHead | undefined): void => {
    setEarlier(head)
    run.start({ publicKey: known === '' ? undefined : known, earlier: head })
  }
  const wrong = run.state.kind === 'done' ? run.state.verdict.problem?.sequence : undefined
  return (
    <>
      <section aria-label={ledgerTexts.verification.title}>
        <Verdict bucket={page.bucket} {...{ total, run, earlier }} start={() => run.start({ earlier })} />
      </section>
      <Entries {...page} {...{ visit, total, wrong }} />
      <Section title={ledgerTexts.list.key}>
        {publicKey !== undefined && <SigningKey publicKey={publicKey} />}
        {canVerify() && (
          <div className={classes.whole}>
            <Expectations bucket={page.bucket} verify={verify} />
          </div>
        )}
      </Section>
      <Auditor visit={visit} publicKey={publicKey ?? 'HEX'} />
    </>
  )
}

export function LedgerPage(props: LedgerPageProps) {
  const { bucket } = props
  const [visit, setVisit] = useState(() => ({ bucket, visit: Date.now() }))
  const { data, error, refetch } = useQuery(ledgerPage(visit, 0))
  return (
    <div className={classes.page}>
      <PageHead
        title={bucket === STORE ? t.storeTitle : t.title(visibleText(bucket))}
        above={
          <Text size="sm">
            <Link href={toLedgers()}>{t.path}</Link>
          </Text>
        }
      >
        <Button
          variant="default"
          leftSection={<Icon name="retry" />}
          onClick={() => setVisit({ bucket, visit: Date.now() })}
        >
          {t.readAgain}
        </Button>
      </PageHead>
      {error !== null && <Problem error={error} retry={() => void refetch()} />}
      {error === null && data === undefined && <Skeleton height={300} aria-label={texts.loading} />}
      {data?.entries === 0 && <EmptyState icon="ledger" title={t.emptyTitle} text={t.empty} />}
      {data !== undefined && data.entries > 0 && (
        <LedgerView key={visit.visit} {...props} visit={visit} header={data.header} total={data.entries} />
      )}
    </div>
  )
}
