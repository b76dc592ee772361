/** Encryption keys and their rotation. */
import { Button, Skeleton, Text } from '@mantine/core'
import { useState } from 'react'
import { type Column, DataTable } from '../parts/data-table.tsx'
import { Problem } from '../parts/problem.tsx'
import { Section } from '../parts/section.tsx'
import { serverTexts } from '../texts/server.ts'
import { texts } from '../texts/texts.ts'
import { NamedKeys } from './named-keys.tsx'
import { RewrapSection } from './rewrap-section.tsx'
import { RotateDialog, type Rotation } from './rotate-dialog.tsx'
import { usePolled } from './use-polled.ts'

const t = serverTexts.encryption
/** Closing a key takes a while, and its progress is shown. */
const CLOSING_MS = 1000
const IDLE_MS = 15_000

const COLUMNS: readonly Column[] = [
  { title: t.key },
  { title: t.use, isWide: true },
  { title: t.version, isNumber: true },
  { title: t.actions },
]
const MASTERS = ['service', 'storage', 'named'] as const

export default function EncryptionPage() {
  const { data, error, isPending, refetch } = usePolled('GetEncryption', latest =>
    latest?.keys.some(({ checking }) => checking !== undefined) ? CLOSING_MS : IDLE_MS,
  )
  const [rotation, setRotation] = useState<Rotation>()
  return (
    <>
      {error !== null && <Problem error={error} retry={() => void refetch()} />}
      {isPending && <Skeleton height={240} aria-label={texts.loading} />}
      {data !== undefined && (
        <>
          <Section title={t.keyring}>
            <Text size="sm" c="dimmed">
              {t.keyringText}
            </Text>
            <Text ff="monospace" size="sm">
              {t.keyringId(data.keyring)}
            </Text>
            <DataTable
              label={t.masters}
              columns={COLUMNS}
              rows={MASTERS.map(what => ({
                id: what,
                cells: [
                  t.what[what],
                  t.uses[what],
                  String(data[what]),
                  <Button
                    key="rotate"
                    size="xs"
                    variant="default"
                    aria-label={t.rotateKey(t.what[what])}
                    onClick={() => setRotation({ what })}
                  >
                    {t.rotate}
                  </Button>,
                ],
              }))}
            />
          </Section>
          <NamedKeys keys={data.keys} rotate={setRotation} />
          <RewrapSection />
        </>
      )}
      {rotation !== undefined && <RotateDialog rotation={rotation} close={() => setRotation(undefined)} />}
    </>
  )
}
