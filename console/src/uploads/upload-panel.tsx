/** The uploads of this tab, above every page. */
import { ActionIcon, Button, Paper, Progress, Text } from '@mantine/core'
import { useState, useSyncExternalStore } from 'react'
import { lastPart, visibleText } from '../format.ts'
import { failureText } from '../parts/failure-text.ts'
import { Icon } from '../parts/icons.tsx'
import { RequestId } from '../parts/request-id.tsx'
import { useLeaveWarning } from '../parts/use-leave-warning.ts'
import { texts } from '../texts/texts.ts'
import classes from './upload-panel.module.css'
import { type Upload, uploadQueue } from './upload-queue.ts'

const SHOWN_MAX = 200
const t = texts.uploads

function UploadActions({ id, state }: Upload, name: string) {
  return (
    <>
      {(state === 'sending' || state === 'waiting') && (
        <ActionIcon variant="subtle" aria-label={t.pause(name)} onClick={() => uploadQueue.pause(id)}>
          <Icon name="pause" />
        </ActionIcon>
      )}
      {(state === 'paused' || state === 'failed') && (
        <ActionIcon
          variant="subtle"
          aria-label={state === 'paused' ? t.resume(name) : t.retry(name)}
          onClick={() => uploadQueue.resume(id)}
        >
          <Icon name={state === 'paused' ? 'play' : 'retry'} />
        </ActionIcon>
      )}
      <ActionIcon
        variant="subtle"
        color="gray"
        aria-label={state === 'done' ? t.remove(name) : t.cancel(name)}
        onClick={() => uploadQueue.cancel(id)}
      >
        <Icon name="close" />
      </ActionIcon>
    </>
  )
}

/** Why an upload failed, what to do about it, and what to quote. */
function UploadFailure({ error }: { readonly error: unknown }) {
  const { message, hint, requestId } = failureText(error)
  return (
    <>
      <Text size="xs" c="var(--mantine-color-error)" className={classes.reason}>
        {t.states.failed} · {message}
      </Text>
      {hint !== undefined && <Text size="xs">{hint}</Text>}
      {requestId !== undefined && <RequestId id={requestId} />}
    </>
  )
}

function UploadRow({ upload }: { readonly upload: Upload }) {
  const { key, size, sentBytes, state, error } = upload
  const name = visibleText(lastPart(key))
  const percent = state === 'done' || size === 0 ? 100 : (sentBytes / size) * 100
  return (
    <li className={classes.row} data-state={state}>
      <div className={classes.what}>
        <Text size="sm" truncate title={visibleText(key)}>
          {name}
        </Text>
        <Progress.Root size="sm">
          <Progress.Section
            value={percent}
            color={state === 'failed' ? 'red' : 'harbour'}
            aria-label={t.progress(name)}
          />
        </Progress.Root>
        {state === 'failed' ? (
          <UploadFailure error={error} />
        ) : (
          <Text size="xs" c="dimmed">
            {t.states[state]} · {t.of(sentBytes, size)}
          </Text>
        )}
      </div>
      {UploadActions(upload, name)}
    </li>
  )
}

export function UploadPanel() {
  const uploads = useSyncExternalStore(uploadQueue.subscribe, uploadQueue.snapshot)
  const [isOpen, setOpen] = useState(true)
  useLeaveWarning(uploadQueue)
  if (uploads.length === 0) return null
  const done = uploads.filter(({ state }) => state === 'done').length
  const failed = uploads.filter(({ state }) => state === 'failed').length
  // Finished ones last: what needs attention is on top.
  const shown = [...uploads].sort((one, other) => Number(one.state === 'done') - Number(other.state === 'done'))
  return (
    <Paper component="section" aria-label={t.title} withBorder shadow="md">
      <div className={classes.head}>
        <Text fw={600} size="sm" role="status" className={classes.what}>
          {t.summary(done, uploads.length, failed)}
        </Text>
        {done > 0 && (
          <Button size="compact-xs" variant="default" onClick={() => uploadQueue.clearDone()}>
            {t.clear}
          </Button>
        )}
        <ActionIcon
          variant="subtle"
          color="gray"
          aria-expanded={isOpen}
          aria-label={isOpen ? t.hide : t.show}
          onClick={() => setOpen(!isOpen)}
        >
          <Icon name={isOpen ? 'down' : 'up'} />
        </ActionIcon>
      </div>
      {isOpen && (
        <ul className={classes.list}>
          {shown.slice(0, SHOWN_MAX).map(upload => (
            <UploadRow key={upload.id} upload={upload} />
          ))}
        </ul>
      )}
    </Paper>
  )
}
