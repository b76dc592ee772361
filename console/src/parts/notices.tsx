/** Short messages about what was done, read aloud and gone after a while. */
import { Notification } from '@mantine/core'
import { useSyncExternalStore } from 'react'
import { whenPersonLeaves } from '../api/leaving.ts'
import { texts } from '../texts/texts.ts'
import { failureText } from './failure-text.ts'
import classes from './notices.module.css'
import { RequestId } from './request-id.tsx'

interface Notice {
  readonly id: number
  readonly text: string
  readonly isError: boolean
  readonly requestId: string | undefined
}

const SHOWN_MS = 6000
let notices: readonly Notice[] = []
let nextId = 1
const listeners = new Set<() => void>()

function change(changed: readonly Notice[]): void {
  notices = changed
  for (const listener of listeners) listener()
}

whenPersonLeaves(() => change([]))

const dismiss = (id: number): void => change(notices.filter(notice => notice.id !== id))

export function notify(text: string): void {
  const id = nextId++
  change([...notices, { id, text, isError: false, requestId: undefined }])
  setTimeout(() => dismiss(id), SHOWN_MS)
}

/** Stays until it was read. A failure of a request comes with what to do and what to quote. */
export function notifyError(error: unknown): void {
  const { message, hint, requestId } = failureText(error)
  const text = [message, hint].filter(Boolean).join(' ')
  change([...notices, { id: nextId++, text, isError: true, requestId }])
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export function Notices() {
  const shown = useSyncExternalStore(subscribe, () => notices)
  return (
    <div className={classes.stack} role="status" aria-live="polite">
      {shown.map(({ id, text, isError, requestId }) => (
        <Notification
          key={id}
          color={isError ? 'red' : 'harbour'}
          withBorder
          onClose={() => dismiss(id)}
          closeButtonProps={{ 'aria-label': texts.close }}
        >
          {text}
          {requestId !== undefined && <RequestId id={requestId} />}
        </Notification>
      ))}
    </div>
  )
}
