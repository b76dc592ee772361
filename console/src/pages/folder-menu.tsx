/** Actions on the folder that is open. */
import { ActionIcon, Menu } from '@mantine/core'
import { lazy, Suspense, useState } from 'react'
import { Icon } from '../parts/icons.tsx'
import { copyManyTexts as t } from '../texts/copies.ts'

const CopyManyDialog = lazy(() => import('../copies/copy-many-dialog.tsx'))

const KINDS = ['copy', 'move'] as const

export function FolderMenu({ bucket, prefix }: { readonly bucket: string; readonly prefix: string }) {
  const [kind, setKind] = useState<(typeof KINDS)[number]>()
  const above = prefix.slice(0, prefix.slice(0, -1).lastIndexOf('/') + 1)
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon variant="default" size={36} aria-label={t.folderMenu}>
            <Icon name="more" />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          {KINDS.map(one => (
            <Menu.Item key={one} leftSection={<Icon name="folder" />} onClick={() => setKind(one)}>
              {t.openFolder[one]}
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
      <Suspense>
        {kind !== undefined && (
          <CopyManyDialog
            kind={kind}
            place={{ bucket, prefix: above }}
            entries={[{ kind: 'folder', key: prefix }]}
            close={() => setKind(undefined)}
            onStart={() => {}}
          />
        )}
      </Suspense>
    </>
  )
}
