/** The title of a page and what can be done on it. */
import { type ReactNode, useEffect } from 'react'
import { texts } from '../texts/texts.ts'
import { ClampedTitle } from './clamped-title.tsx'
import classes from './page-head.module.css'

interface PageHeadProps {
  readonly title: string
  readonly above?: ReactNode
  readonly children?: ReactNode
}

export function PageHead({ title, above, children }: PageHeadProps) {
  useEffect(() => {
    document.title = `${title} – ${texts.product}`
  }, [title])
  return (
    <div className={classes.head}>
      <div className={classes.title}>
        {above}
        <ClampedTitle title={title} />
      </div>
      <div className={classes.actions}>{children}</div>
    </div>
  )
}
