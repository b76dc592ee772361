/** Names and values, as a titled part of a page. */
import { Paper, Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'
import { visibleText } from '../format.ts'
import classes from './facts.module.css'

interface FactsProps {
  readonly title: string
  readonly rows: readonly (readonly [string, string])[]
  readonly none?: string
  readonly children?: ReactNode
}

export function Facts({ title, rows, none, children }: FactsProps) {
  return (
    <Paper component="section" withBorder p="md" aria-label={title}>
      <Title order={2} size="h4" mb="sm">
        {title}
      </Title>
      {rows.length === 0 ? (
        <Text c="dimmed">{none}</Text>
      ) : (
        <dl className={classes.facts}>
          {rows.map(([name, value]) => (
            <div key={name} className={classes.fact}>
              <dt>{visibleText(name)}</dt>
              <dd>{visibleText(value)}</dd>
            </div>
          ))}
        </dl>
      )}
      {children}
    </Paper>
  )
}
