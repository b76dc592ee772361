/** Parts that the forms of all rules share. */
import { Alert, Button, Group, NativeSelect, Stack, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import type { Bucket } from '../api/use-buckets.ts'
import { EmptyState } from '../parts/empty-state.tsx'
import { Icon, type IconName } from '../parts/icons.tsx'
import { rulesTexts as t } from '../texts/rules.ts'
import type { XmlElement } from './xml-text.ts'

/** A form shows the document and changes it; it has no state of its own. */
export interface RuleFormProps {
  readonly bucket: Bucket
  /** Undefined when there is no document. */
  readonly root: XmlElement | undefined
  /** Without a document, saving removes the one in force. */
  readonly change: (root: XmlElement | undefined) => void
  readonly mayChange: boolean
}

interface NothingYetProps {
  readonly icon: IconName
  readonly texts: { readonly emptyTitle: string; readonly empty: string }
  readonly start: string
  readonly onStart: () => void
  readonly mayChange: boolean
  readonly children?: ReactNode
}

/** Where a rule is not set: what it would be good for, and how to begin. */
export function NothingYet({ icon, texts, start, onStart, mayChange, children }: NothingYetProps) {
  return (
    <Stack w="100%" align="center">
      <EmptyState icon={icon} title={texts.emptyTitle} text={texts.empty}>
        {children}
        {mayChange && (
          <Button variant="default" onClick={onStart}>
            {start}
          </Button>
        )}
      </EmptyState>
    </Stack>
  )
}

export function UnknownElements({ names }: { readonly names: readonly string[] }) {
  if (names.length === 0) return null
  return (
    <Alert color="yellow" variant="outline" icon={<Icon name="alert" />} role="note">
      {t.unknown(names)}
    </Alert>
  )
}

interface ChoiceProps<Value extends string> {
  readonly label: string
  readonly description?: string
  readonly value: Value
  readonly texts: Readonly<Record<Value, string>>
  readonly onChange: (value: Value) => void
  readonly isDisabled: boolean
}

export function Choice<Value extends string>(props: ChoiceProps<Value>) {
  const { label, description, value, texts, onChange, isDisabled } = props
  return (
    <NativeSelect
      label={label}
      description={description}
      value={value}
      disabled={isDisabled}
      data={Object.entries<string>(texts).map(([one, text]) => ({ value: one, label: text }))}
      onChange={event => onChange(event.currentTarget.value as Value)}
    />
  )
}

interface RuleButtonsProps {
  readonly name: string
  /** A rule with such elements is edited as a document. */
  readonly unknown: readonly string[]
  readonly edit: () => void
  readonly remove: () => void
  readonly children?: ReactNode
}

/** The buttons of one rule in a list. Their names carry that of the rule for those who do not see the row. */
export function RuleButtons({ name, unknown, edit, remove, children }: RuleButtonsProps) {
  return (
    <Group gap="xs">
      {unknown.length === 0 && (
        <Button size="xs" variant="default" onClick={edit} aria-label={`${t.edit}: ${name}`}>
          {t.edit}
        </Button>
      )}
      {children}
      <Button size="xs" variant="default" onClick={remove} aria-label={`${t.removeRule}: ${name}`}>
        {t.removeRule}
      </Button>
    </Group>
  )
}

export const Hint = ({ children }: { readonly children: ReactNode }) => (
  <Text size="sm" c="dimmed">
    {children}
  </Text>
)
