/** Chooses files, or a whole folder, to upload. */
import { ActionIcon, Group, Menu } from '@mantine/core'
import { type ChangeEvent, useRef } from 'react'
import type { Permission } from '../api/permissions.ts'
import { GuardedButton } from '../parts/guarded-button.tsx'
import { Icon } from '../parts/icons.tsx'
import { texts } from '../texts/texts.ts'
import { type ChosenFile, chosenFiles } from '../uploads/dropped-files.ts'

const t = texts.objects

interface UploadButtonProps {
  readonly permission: Permission
  readonly onFiles: (files: readonly ChosenFile[]) => void
}

export function UploadButton({ permission, onFiles }: UploadButtonProps) {
  const files = useRef<HTMLInputElement>(null)
  const folder = useRef<HTMLInputElement>(null)
  const take = (event: ChangeEvent<HTMLInputElement>): void => {
    const { files: chosen } = event.currentTarget
    if (chosen !== null && chosen.length > 0) onFiles(chosenFiles(chosen))
    // The same file can be chosen again.
    event.currentTarget.value = ''
  }
  return (
    <Group gap={4} wrap="nowrap">
      <input ref={files} type="file" multiple hidden onChange={take} aria-label={t.upload} />
      <input ref={folder} type="file" hidden onChange={take} aria-label={t.uploadFolder} {...{ webkitdirectory: '' }} />
      <GuardedButton
        permission={permission}
        leftSection={<Icon name="upload" />}
        onClick={() => files.current?.click()}
      >
        {t.upload}
      </GuardedButton>
      {!permission.isRefused && (
        <Menu position="bottom-end">
          <Menu.Target>
            <ActionIcon size={36} aria-label={t.uploadMore}>
              <Icon name="down" />
            </ActionIcon>
          </Menu.Target>
          <Menu.Dropdown>
            <Menu.Item leftSection={<Icon name="folder" />} onClick={() => folder.current?.click()}>
              {t.uploadFolder}
            </Menu.Item>
          </Menu.Dropdown>
        </Menu>
      )}
    </Group>
  )
}
