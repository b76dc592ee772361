/** Shown where there is nothing yet: what belongs here, and how to begin. */
import { Stack, Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'
import { Icon, type IconName } from './icons.tsx'

interface EmptyStateProps {
  readonly icon: IconName
  readonly title: string
  readonly text: string
  readonly children?: ReactNode
}

export function EmptyState({ icon, title, text, children }: EmptyStateProps) {
  return (
    <Stack align="center" gap="xs" py="xl" px="md" ta="center">
      <Icon name={icon} size={36} />
      <Title order={2} size="h4">
        {title}
      </Title>
      <Text c="dimmed" maw={440}>
        {text}
      </Text>
      {children}
    </Stack>
  )
}
