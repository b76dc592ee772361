/** Which versions, what to do with them, and what it will mean. */
import { Alert, Button, Group, Radio, Stack, Text } from '@mantine/core'
import { useMemo, useState } from 'react'
import { type Permission, usePermissions } from '../api/permissions.ts'
import { exactTimeText } from '../format.ts'
import { GuardedButton } from '../parts/guarded-button.tsx'
import { holdsTexts } from '../texts/holds.ts'
import { texts } from '../texts/texts.ts'
import { isInForce, type LockOrder, type LockPlan, lockPlan, type ManyAction, type Target } from './lock-plan.ts'
import { NO_CHOICE, retentionOf } from './retention-choice.ts'
import { BypassField, RetentionFields } from './retention-fields.tsx'

const t = holdsTexts.many
const ACTIONS: readonly ManyAction[] = ['hold', 'release', 'retain', 'lift']

function meaningOf(count: number, { action, wanted }: LockOrder): string {
  if (action !== 'retain') return t.meaning[action](count)
  return wanted === undefined
    ? holdsTexts.retention.dateNeeded
    : t.meaning[wanted.mode](count, exactTimeText(wanted.until))
}

function Meaning({ plan, order }: { readonly plan: LockPlan; readonly order: LockOrder }) {
  const { todo, unchanged, longer, needsBypass } = plan
  return (
    <Alert variant="outline" color={order.wanted?.mode === 'compliance' ? 'red' : 'harbour'} role="status">
      <Stack gap={6}>
        <Text size="sm" fw={600}>
          {meaningOf(todo.length, order)}
        </Text>
        {unchanged > 0 && <Text size="sm">{t.unchanged(unchanged)}</Text>}
        {longer > 0 && <Text size="sm">{t.longer(longer)}</Text>}
        {needsBypass > 0 && <Text size="sm">{t.needsBypass(needsBypass)}</Text>}
      </Stack>
    </Alert>
  )
}

interface Allowed {
  readonly hold: Permission
  readonly retain: Permission
  readonly bypass: Permission
}

function permissionFor(action: ManyAction, { hold, retain, bypass }: Allowed): Permission {
  if (action === 'hold' || action === 'release') return hold
  return action === 'lift' && !retain.isRefused ? bypass : retain
}

/** Asked for the first one: the server decides for each. */
function useAllowed(bucket: string, { key }: Target): Allowed {
  return usePermissions({
    hold: { action: 's3:PutObjectLegalHold', bucket, key },
    retain: { action: 's3:PutObjectRetention', bucket, key },
    bypass: { action: 's3:BypassGovernanceRetention', bucket, key },
  })
}

interface ManyFormProps {
  readonly bucket: string
  readonly targets: readonly Target[]
  readonly run: (todo: readonly Target[], order: LockOrder) => void
  readonly close: () => void
}

export function ManyForm({ bucket, targets, run, close }: ManyFormProps) {
  const [scope, setScope] = useState('current')
  const [action, setAction] = useState<ManyAction>('hold')
  const [choice, setChoice] = useState(NO_CHOICE)
  const [now] = useState(() => new Date())
  const current = useMemo(() => targets.filter(({ isLatest }) => isLatest), [targets])
  const keys = useMemo(() => new Set(targets.map(({ key }) => key)).size, [targets])
  const chosen = scope === 'all' ? targets : current
  const allowed = useAllowed(bucket, targets[0]!)
  const wanted = action === 'retain' ? retentionOf(choice, now) : undefined
  const order: LockOrder = { action, wanted, bypass: choice.bypass }
  const plan = lockPlan(chosen, order, now)
  const isReady = plan.todo.length > 0 && (action !== 'retain' || wanted !== undefined)
  const held = chosen.filter(({ isHeld }) => isHeld).length
  const retained = chosen.filter(target => isInForce(target, now)).length
  return (
    <Stack>
      <Text>
        {t.found(keys, targets.length)} {t.already(held, retained)}
      </Text>
      <Radio.Group label={t.scope} value={scope} onChange={setScope}>
        <Group mt={6}>
          <Radio value="current" label={t.current(current.length)} />
          <Radio value="all" label={t.all(targets.length)} />
        </Group>
      </Radio.Group>
      <Radio.Group label={t.action} value={action} onChange={value => setAction(value as ManyAction)}>
        <Stack gap={6} mt={6}>
          {ACTIONS.map(value => (
            <Radio key={value} value={value} label={t.actions[value]} />
          ))}
        </Stack>
      </Radio.Group>
      {action === 'retain' && (
        <>
          <RetentionFields choice={choice} setChoice={setChoice} />
          <BypassField
            isOn={choice.bypass}
            setOn={bypass => setChoice({ ...choice, bypass })}
            permission={allowed.bypass}
          />
        </>
      )}
      <Meaning plan={plan} order={order} />
      <Group justify="flex-end">
        <Button variant="default" onClick={close}>
          {texts.cancel}
        </Button>
        <GuardedButton
          permission={permissionFor(action, allowed)}
          {...(action === 'hold' ? {} : { color: 'red' })}
          disabled={!isReady}
          onClick={() => run(plan.todo, order)}
        >
          {t.confirm[action](plan.todo.length)}
        </GuardedButton>
      </Group>
    </Stack>
  )
}
