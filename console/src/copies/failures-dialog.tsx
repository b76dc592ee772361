/** The objects of a copy or move that failed, each with its reason and the request to quote. */
import { Code, List, Stack, Text } from '@mantine/core'
import { visibleText } from '../format.ts'
import { Dialog } from '../parts/dialog.tsx'
import { copyManyTexts as t } from '../texts/copies.ts'
import { texts } from '../texts/texts.ts'
import type { CopyJob, FailedCopy } from './copy-jobs.ts'
import classes from './failures-dialog.module.css'

const SHOWN_MAX = 200

function Failure({ failure: { task, message, requestId } }: { readonly failure: FailedCopy }) {
  return (
    <List.Item className={classes.failure}>
      <Text size="sm" fw={600}>
        {visibleText(task.key)}
      </Text>
      <Text size="sm">{message}</Text>
      {task.copied !== undefined && <Text size="sm">{t.copiedOnly}</Text>}
      {requestId !== undefined && (
        <Text size="xs">
          {texts.errors.requestId} <Code>{requestId}</Code>
        </Text>
      )}
    </List.Item>
  )
}

export default function FailuresDialog({ job, close }: { readonly job: CopyJob; readonly close: () => void }) {
  const { plan, failed } = job
  return (
    <Dialog title={t.failuresTitle(plan.kind, failed.length)} close={close} size="lg">
      <Stack>
        <List role="list">
          {failed.slice(0, SHOWN_MAX).map(failure => (
            <Failure key={failure.task.key} failure={failure} />
          ))}
        </List>
        {failed.length > SHOWN_MAX && <Text size="sm">{t.andMore(failed.length - SHOWN_MAX)}</Text>}
      </Stack>
    </Dialog>
  )
}
