/** A dialog with a title. Mantine's own header would be a second banner of the page. */
import { Modal } from '@mantine/core'
import type { ReactNode } from 'react'
import { texts } from '../texts/texts.ts'
import classes from './dialog.module.css'

interface DialogProps {
  readonly title: string
  readonly close: () => void
  readonly size?: string
  /** Closed by its buttons only: a slip must not take away what is shown once. */
  readonly isFirm?: boolean
  readonly children: ReactNode
}

export function Dialog({ title, close, size = 'md', isFirm = false, children }: DialogProps) {
  return (
    // The page behind does not scroll, only its parts do; locking it would need a style element without a nonce.
    <Modal.Root
      opened
      onClose={close}
      size={size}
      centered
      lockScroll={false}
      closeOnClickOutside={!isFirm}
      closeOnEscape={!isFirm}
    >
      <Modal.Overlay backgroundOpacity={0.5} />
      <Modal.Content>
        <div className={classes.head}>
          <Modal.Title className={classes.title}>{title}</Modal.Title>
          <Modal.CloseButton aria-label={texts.close} />
        </div>
        <Modal.Body>{children}</Modal.Body>
      </Modal.Content>
    </Modal.Root>
  )
}
