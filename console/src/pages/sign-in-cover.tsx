/**
 * Signing in again, above a page whose session has ended. It is a native modal dialog: everything else, also dialogs of
 * the page, is out of reach of pointer, keyboard and screen reader, and the style sheet hides it from view and print.
 */
import { useId, useLayoutEffect, useRef } from 'react'
import { createPortal } from 'react-dom'
import type { Session } from '../api/session.tsx'
import { suspension } from '../api/suspension.ts'
import { visibleText } from '../format.ts'
import { texts } from '../texts/texts.ts'
import classes from './sign-in.module.css'
import { SignInForm } from './sign-in-form.tsx'

const t = texts.signIn

/**
 * Shortcuts belong to the page behind: they would close its dialogs or open its palette unseen. Registered with the
 * first module, and so before those of the page.
 */
window.addEventListener(
  'keydown',
  event => {
    if (!suspension.isOn() || (event.key !== 'Escape' && !event.ctrlKey && !event.metaKey)) return
    event.stopImmediatePropagation()
    if (event.key === 'Escape') event.preventDefault()
  },
  { capture: true },
)

export function SignInCover({ session }: { readonly session: Session }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const titleId = useId()
  const { user, account, accessKey, person } = session
  const hasKey = person === undefined
  useLayoutEffect(() => {
    const { title } = document
    document.title = texts.product
    dialog.current?.showModal()
    if (hasKey) dialog.current?.querySelector<HTMLElement>('input[type=password]')?.focus()
    return () => {
      document.title = title
    }
  }, [hasKey])
  return createPortal(
    <dialog
      ref={dialog}
      className={classes.cover}
      aria-labelledby={titleId}
      // A browser may close it by a gesture of its own.
      onClose={event => event.currentTarget.showModal()}
    >
      <SignInForm
        title={t.coverTitle}
        titleId={titleId}
        notice={t.cover(visibleText(user ?? account.displayName))}
        knownKey={hasKey ? accessKey : ''}
      />
    </dialog>,
    document.body,
  )
}
