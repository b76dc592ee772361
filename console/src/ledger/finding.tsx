/** A verdict: a coloured edge and icon, and text in the colours of the page, which are readable in both themes. */
import { Stack, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { Icon } from '../parts/icons.tsx'
import classes from './finding.module.css'

interface FindingProps {
  readonly tone: 'good' | 'doubt' | 'bad'
  readonly title: string
  readonly children: ReactNode
}

export function Finding({ tone, title, children }: FindingProps) {
  return (
    <div className={classes.finding} data-tone={tone} role={tone === 'bad' ? 'alert' : 'status'}>
      <span className={classes.icon}>
        <Icon name={tone === 'good' ? 'check' : 'alert'} size={22} />
      </span>
      <Stack gap="xs" align="flex-start" className={classes.text}>
        <Text fw={650}>{title}</Text>
        {children}
      </Stack>
    </div>
  )
}
