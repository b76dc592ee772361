/** Holds or retains many versions: counts them, says what it will mean, does it, and tells what was refused. */
import { Alert, Button, Group, List, Progress, Stack, Text, TextInput } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { visibleText } from '../format.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Problem } from '../parts/problem.tsx'
import { holdsTexts } from '../texts/holds.ts'
import { texts } from '../texts/texts.ts'
import { changeLocks, type LockReport } from './change-locks.ts'
import { findTargets, type Selection } from './find-targets.ts'
import type { LockOrder, Target } from './lock-plan.ts'
import { ManyForm } from './many-form.tsx'
import { NoLock } from './no-lock.tsx'
import { useIsLockOff } from './use-is-lock-off.ts'
import { useRefreshLocks } from './use-lock-change.ts'

const t = holdsTexts.many
const REFUSED_SHOWN = 20

function Report({ report, all, close }: { report: LockReport; all: number; close: () => void }) {
  const { changed, refused, isStopped } = report
  return (
    <Stack>
      <Text role="status">{isStopped ? t.stopped(changed + refused.length, all) : t.done(changed)}</Text>
      {refused.length > 0 && (
        <Alert role="alert" color="red" variant="outline" title={t.refused(refused.length)}>
          <List size="sm">
            {refused.slice(0, REFUSED_SHOWN).map(({ target: { key, versionId }, message }) => (
              <List.Item key={`${versionId}/${key}`}>
                {visibleText(key)}: {message}
              </List.Item>
            ))}
          </List>
          {refused.length > REFUSED_SHOWN && <Text size="sm">{t.andMore(refused.length - REFUSED_SHOWN)}</Text>}
        </Alert>
      )}
      <Group justify="flex-end">
        <Button onClick={close}>{texts.close}</Button>
      </Group>
    </Stack>
  )
}

function useWork(bucket: string) {
  const stop = useRef(new AbortController())
  const refresh = useRefreshLocks(bucket)
  const [done, setDone] = useState(0)
  const work = useMutation({
    mutationFn: ({ todo, order }: { readonly todo: readonly Target[]; readonly order: LockOrder }) =>
      changeLocks({ bucket, todo, order, signal: stop.current.signal, onProgress: setDone }),
    onSettled: refresh,
  })
  return { work, done, stop: () => stop.current.abort() }
}

interface CountedProps {
  readonly bucket: string
  readonly selection: Selection
  readonly work: ReturnType<typeof useWork>
  readonly close: () => void
}

/** Everything is counted anew for every dialog. */
function Counted({ bucket, selection, work: { work, done, stop }, close }: CountedProps) {
  const [counted, setCounted] = useState(0)
  const { data, error } = useQuery({
    queryKey: ['targets', bucket, selection],
    queryFn: ({ signal }) => findTargets(bucket, selection, { signal, onCount: setCounted }),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  })
  if (error !== null) return <Problem error={error} />
  if (data === undefined) return <Text role="status">{t.counting(counted)}</Text>
  if (data.length === 0) return <Text role="status">{t.nothing}</Text>
  const all = work.variables?.todo.length ?? 0
  if (work.data !== undefined) return <Report report={work.data} all={all} close={close} />
  if (work.isPending) {
    return (
      <Stack>
        <Text role="status">{t.progress(done, all)}</Text>
        <Progress value={(done / all) * 100} aria-label={t.progress(done, all)} />
        <Group justify="flex-end">
          <Button variant="default" onClick={stop}>
            {t.stop}
          </Button>
        </Group>
      </Stack>
    )
  }
  return (
    <Stack>
      {work.error !== null && <Problem error={work.error} />}
      <ManyForm bucket={bucket} targets={data} run={(todo, order) => work.mutate({ todo, order })} close={close} />
    </Stack>
  )
}

interface PrefixFormProps {
  readonly prefix: string
  /** Undefined while a prefix is typed that was not counted: only what is shown is held. */
  readonly count: (prefix: string | undefined) => void
}

function PrefixForm({ prefix, count }: PrefixFormProps) {
  const [text, setText] = useState(prefix)
  const type = (typed: string): void => {
    setText(typed)
    count(undefined)
  }
  return (
    <form
      onSubmit={event => {
        event.preventDefault()
        count(text)
      }}
    >
      <Group align="flex-end" wrap="nowrap">
        <TextInput
          label={t.prefix}
          description={t.prefixHint}
          value={text}
          onChange={event => type(event.currentTarget.value)}
          data-autofocus
          flex={1}
        />
        <Button type="submit" variant="default">
          {t.count}
        </Button>
      </Group>
    </form>
  )
}

interface ManyDialogProps {
  readonly bucket: string
  /** Without one, a prefix is asked for. */
  readonly selection?: Selection
  readonly prefix?: string
  readonly close: () => void
}

export default function ManyDialog({ bucket, selection, prefix = '', close }: ManyDialogProps) {
  const [chosen, setChosen] = useState(selection)
  const isOff = useIsLockOff(bucket)
  const running = useWork(bucket)
  const { isPending, isIdle } = running.work
  return (
    <Dialog title={t.title} close={isPending ? running.stop : close} size="lg">
      {isOff ? (
        <NoLock bucket={bucket} />
      ) : (
        <Stack>
          {selection === undefined && isIdle && (
            <PrefixForm
              prefix={prefix}
              count={text => setChosen(text === undefined ? undefined : { keys: [], prefixes: [text] })}
            />
          )}
          {chosen !== undefined && (
            <Counted key={JSON.stringify(chosen)} {...{ bucket, close }} selection={chosen} work={running} />
          )}
        </Stack>
      )}
    </Dialog>
  )
}
