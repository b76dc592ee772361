/** Access to one object: its ACL, and the question who may do what with it. */
import { Anchor, Group } from '@mantine/core'
import { useState } from 'react'
import { usePermissions } from '../api/permissions.ts'
import type { ObjectPlace } from '../objects/object-place.ts'
import { Dialog } from '../parts/dialog.tsx'
import { GuardedButton } from '../parts/guarded-button.tsx'
import { Section } from '../parts/section.tsx'
import { Link, toExplain } from '../router.tsx'
import { bucketAccessTexts as t } from '../texts/bucket-access.ts'
import { AclEditor } from './acl-editor.tsx'

export default function ObjectAccess({ place }: { readonly place: ObjectPlace }) {
  const { bucket, key, versionId } = place
  const [isOpen, setOpen] = useState(false)
  const { read, write } = usePermissions({
    read: { action: 's3:GetObjectAcl', bucket, key, versionId },
    write: { action: 's3:PutObjectAcl', bucket, key, versionId },
  })
  return (
    <Section title={t.objectAccess}>
      <Group>
        <GuardedButton permission={read} variant="default" onClick={() => setOpen(true)}>
          {t.objectAclOpen}
        </GuardedButton>
        <Anchor component={Link} href={toExplain({ bucket, key, version: versionId })}>
          {t.explainObject}
        </Anchor>
      </Group>
      {isOpen && (
        <Dialog title={t.objectAcl} close={() => setOpen(false)} size="lg">
          <AclEditor place={place} permission={write} />
        </Dialog>
      )}
    </Section>
  )
}
