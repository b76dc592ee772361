/** The copies and moves of this tab, above every page. */
import { ActionIcon, Button, Paper, Progress, Text } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { lazy, Suspense, useEffect, useState, useSyncExternalStore } from 'react'
import { BUCKETS_KEY } from '../api/use-buckets.ts'
import { visibleText } from '../format.ts'
import { Icon } from '../parts/icons.tsx'
import { useLeaveWarning } from '../parts/use-leave-warning.ts'
import { copyManyTexts as t } from '../texts/copies.ts'
import { type CopyJob, copyJobs } from './copy-jobs.ts'
import classes from './copy-panel.module.css'

const FailuresDialog = lazy(() => import('./failures-dialog.tsx'))

function statusOf({ plan, state, done, skipped, failed, isWithoutAcl }: CopyJob): string {
  return [
    t.progress(plan.kind, done, plan.objects.length),
    ...(skipped > 0 ? [t.skipped(skipped)] : []),
    ...(failed.length > 0 ? [t.failed(failed.length)] : []),
    ...(isWithoutAcl ? [t.withoutAcls] : []),
    ...(state === 'stopped' ? [t.stopped] : []),
  ].join(' · ')
}

function JobActions({ job, show }: { readonly job: CopyJob; readonly show: () => void }) {
  const { id, state, failed } = job
  return (
    <div className={classes.actions}>
      {failed.length > 0 && (
        <Button size="compact-xs" variant="default" onClick={show}>
          {t.showFailures}
        </Button>
      )}
      {state === 'running' && (
        <Button size="compact-xs" variant="default" onClick={() => copyJobs.stop(id)}>
          {t.stop}
        </Button>
      )}
      {(state === 'stopped' || (state === 'done' && failed.length > 0)) && (
        <Button size="compact-xs" variant="default" onClick={() => copyJobs.resume(id)}>
          {state === 'stopped' ? t.goOn : t.retry}
        </Button>
      )}
    </div>
  )
}

function JobRow({ job }: { readonly job: CopyJob }) {
  const [isShown, setShown] = useState(false)
  const { id, plan, state, done, skipped, failed } = job
  const to = visibleText(`${plan.to.bucket}/${plan.to.prefix}`)
  const title = state === 'running' ? t.job(plan.kind, plan.objects.length, to) : t.ended(plan.kind, to)
  const percent = ((done + skipped + failed.length) / plan.objects.length) * 100
  return (
    <li className={classes.row}>
      <div className={classes.head}>
        <Text size="sm" fw={600} truncate title={title} className={classes.what}>
          {title}
        </Text>
        {state !== 'running' && (
          <ActionIcon variant="subtle" color="gray" aria-label={t.remove} onClick={() => copyJobs.remove(id)}>
            <Icon name="close" />
          </ActionIcon>
        )}
      </div>
      <Progress.Root size="sm">
        <Progress.Section value={percent} color={failed.length > 0 ? 'red' : 'harbour'} aria-label={title} />
      </Progress.Root>
      <Text size="xs" c={failed.length > 0 ? 'var(--mantine-color-error)' : 'dimmed'} role="status">
        {statusOf(job)}
      </Text>
      <JobActions job={job} show={() => setShown(true)} />
      <Suspense>{isShown && <FailuresDialog job={job} close={() => setShown(false)} />}</Suspense>
    </li>
  )
}

/** Everything that a copy or move may have changed is read again. */
function useRefreshAfterCopies(): void {
  const queries = useQueryClient()
  useEffect(
    () =>
      copyJobs.onEnd(({ plan }) => {
        for (const bucket of new Set([plan.from.bucket, plan.to.bucket])) {
          for (const name of ['listing', 'object', 'versions']) {
            void queries.invalidateQueries({ queryKey: [name, bucket] })
          }
        }
        void queries.invalidateQueries({ queryKey: BUCKETS_KEY })
      }),
    [queries],
  )
}

export function CopyPanel() {
  const jobs = useSyncExternalStore(copyJobs.subscribe, copyJobs.snapshot)
  useLeaveWarning(copyJobs)
  useRefreshAfterCopies()
  if (jobs.length === 0) return null
  return (
    <Paper component="section" aria-label={t.panel} withBorder shadow="md">
      <ul className={classes.list}>
        {jobs.map(job => (
          <JobRow key={job.id} job={job} />
        ))}
      </ul>
    </Paper>
  )
}
