/** The form of a retention: mode, last day, and whether to bypass governance. */
import { Button, Checkbox, Group, Radio, Stack, TextInput } from '@mantine/core'
import type { Permission } from '../api/permissions.ts'
import { holdsTexts } from '../texts/holds.ts'
import { dayAfter, type LockMode, type RetentionChoice } from './retention-choice.ts'

const t = holdsTexts.retention
const MODES = ['governance', 'compliance'] as const

interface RetentionFieldsProps {
  readonly choice: RetentionChoice
  readonly setChoice: (choice: RetentionChoice) => void
}

export function RetentionFields({ choice, setChoice }: RetentionFieldsProps) {
  const now = new Date()
  return (
    <Stack gap="sm">
      <Radio.Group
        label={t.mode}
        value={choice.mode}
        onChange={mode => setChoice({ ...choice, mode: mode as LockMode })}
      >
        <Stack gap={6} mt={6}>
          {MODES.map(mode => (
            <Radio key={mode} value={mode} label={t.modes[mode]} description={t.modeHints[mode]} />
          ))}
        </Stack>
      </Radio.Group>
      <TextInput
        type="date"
        label={t.date}
        description={t.dateHint}
        min={dayAfter(1, now)}
        value={choice.day}
        onChange={event => setChoice({ ...choice, day: event.currentTarget.value })}
        maw={240}
      />
      <Group gap="xs" role="group" aria-label={t.periodsLabel}>
        {Object.entries(t.periods).map(([days, label]) => (
          <Button
            key={days}
            size="compact-sm"
            variant="default"
            onClick={() => setChoice({ ...choice, day: dayAfter(Number(days), now) })}
          >
            {label}
          </Button>
        ))}
      </Group>
    </Stack>
  )
}

interface BypassFieldProps {
  readonly isOn: boolean
  readonly setOn: (isOn: boolean) => void
  readonly permission: Permission
}

export function BypassField({ isOn, setOn, permission }: BypassFieldProps) {
  return (
    <Checkbox
      label={t.bypass}
      description={permission.isRefused ? permission.reason : t.bypassHint}
      disabled={permission.isRefused}
      checked={isOn}
      onChange={event => setOn(event.currentTarget.checked)}
    />
  )
}
