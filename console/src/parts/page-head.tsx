/** The title of a page and what can be done on it. */
import { Title } from '@mantine/core'
import { type ReactNode, useEffect } from 'react'
import { texts } from '../texts/texts.ts'
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
        <Title order={1} size="h2" className={classes.text}>
          {title}
        </Title>
      </div>
      <div className={classes.actions}>{children}</div>
    </div>
  )
}
