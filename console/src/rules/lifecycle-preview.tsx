/** Previews the effect of the document's rules, saved or not, on the objects there are. */
import { Badge, Group, Stack, Table, Text, TextInput, Title } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import type { AdminApi } from '../api/admin-api.ts'
import { call } from '../api/client.ts'
import { usePermissions } from '../api/permissions.ts'
import { bytesText, exactTimeText, timeText, visibleText } from '../format.ts'
import { GuardedButton } from '../parts/guarded-button.tsx'
import { Problem } from '../parts/problem.tsx'
import { rulesTexts } from '../texts/rules.ts'
import { Hint } from './form-frame.tsx'
import classes from './rules.module.css'

const t = rulesTexts.preview
const SHOWN_MAX = 100
/** The server looks a hundred years ahead. */
const DAYS_MAX = 36_500

type Preview = AdminApi['PreviewLifecycle']['output']

function Actions({ actions }: Pick<Preview, 'actions'>) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a keyboard scrolls the region only when it can be focused.
    <section className={classes.scroll} tabIndex={0} aria-label={t.table}>
      <Table stickyHeader>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t.action}</Table.Th>
            <Table.Th>{t.name}</Table.Th>
            <Table.Th>{t.size}</Table.Th>
            <Table.Th>{t.due}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {actions.map(({ action, key, versionId, uploadId, size, due, locked }) => (
            <Table.Tr key={`${action} ${key} ${versionId ?? uploadId ?? ''}`}>
              <Table.Td>{locked ? <Badge variant="default">{t.stays}</Badge> : t.actions[action]}</Table.Td>
              <Table.Td className={classes.key}>{visibleText(key)}</Table.Td>
              <Table.Td>{size === undefined ? '' : bytesText(size)}</Table.Td>
              <Table.Td>{timeText(new Date(due))}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </section>
  )
}

function Result({ preview }: { readonly preview: Preview }) {
  const { at, actions, totals, complete } = preview
  const shown = actions.slice(0, SHOWN_MAX)
  return (
    <Stack gap="xs" className={classes.whole} role="status">
      <Text>
        {t.at(exactTimeText(new Date(at)))} {totals.actions === 0 ? t.none : t.totals(totals.actions, totals.bytes)}
      </Text>
      {totals.locked > 0 && <Text>{t.locked(totals.locked)}</Text>}
      {!complete && <Text>{t.incomplete}</Text>}
      {shown.length < totals.actions && <Text size="sm">{t.first(shown.length)}</Text>}
      {shown.length > 0 && <Actions actions={shown} />}
    </Stack>
  )
}

interface LifecyclePreviewProps {
  readonly bucket: string
  /** As it is edited. */
  readonly document: string
}

export function LifecyclePreview({ bucket, document }: LifecyclePreviewProps) {
  const [days, setDays] = useState('0')
  const { list } = usePermissions({ list: { action: 's3:ListBucketVersions', bucket } })
  const preview = useMutation({
    mutationFn: async (order: { document: string; days: number }) => {
      const { days, document } = order
      return call('PreviewLifecycle', { bucket, document, ...(days > 0 ? { days } : {}) })
    },
  })
  const isWrong = !/^\d+$/.test(days) || Number(days) > DAYS_MAX
  const isOld = preview.variables !== undefined && preview.variables.document !== document
  return (
    <Stack gap="xs" className={classes.whole} align="flex-start">
      <Title order={3} size="h5">
        {t.title}
      </Title>
      <Hint>{t.text}</Hint>
      <Group align="flex-end" gap="sm">
        <TextInput
          label={t.days}
          description={t.daysHint}
          type="number"
          min={0}
          max={DAYS_MAX}
          w={160}
          error={isWrong ? t.daysWrong : undefined}
          value={days}
          onChange={event => setDays(event.currentTarget.value)}
        />
        <GuardedButton
          permission={list}
          variant="default"
          loading={preview.isPending}
          disabled={isWrong && !list.isRefused}
          onClick={() => preview.mutate({ document, days: Number(days) })}
        >
          {t.show}
        </GuardedButton>
      </Group>
      {preview.error !== null && <Problem error={preview.error} />}
      {preview.data !== undefined && (isOld ? <Hint>{t.changed}</Hint> : <Result preview={preview.data} />)}
    </Stack>
  )
}
