/** Short messages about what was done, read aloud and gone after a while. */
import { Notification } from '@mantine/core'
import { useSyncExternalStore } from 'react'
import { texts } from '../texts/texts.ts'
import classes from './notices.module.css'

interface Notice {
  readonly id: number
  readonly text: string
  readonly isError: boolean
}

const SHOWN_MS = 6000
let notices: readonly Notice[] = []
let nextId = 1
const listeners = new Set<() => void>()

function change(changed: readonly Notice[]): void {
  notices = changed
  for (const listener of listeners) listener()
}

const dismiss = (id: number): void => change(notices.filter(notice => notice.id !== id))

export function notify(text: string, { isError = false } = {}): void {
  const id = nextId++
  change([...notices, { id, text, isError }])
  // An error stays until it was read.
  if (!isError) setTimeout(() => dismiss(id), SHOWN_MS)
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export function Notices() {
  const shown = useSyncExternalStore(subscribe, () => notices)
  return (
    <div className={classes.stack} role="status" aria-live="polite">
      {shown.map(({ id, text, isError }) => (
        <Notification
          key={id}
          color={isError ? 'red' : 'harbour'}
          withBorder
          onClose={() => dismiss(id)}
          closeButtonProps={{ 'aria-label': texts.close }}
        >
          {text}
        </Notification>
      ))}
    </div>
  )
}
