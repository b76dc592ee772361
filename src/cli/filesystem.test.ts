import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mountOf, readMounts } from './filesystem.ts'

const MOUNTS = `22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro
30 22 0:27 / /tmp rw,nosuid - tmpfs tmpfs rw,size=1g
31 22 0:40 / /srv/my\\040data rw,noatime - xfs /dev/sdb rw,nobarrier
32 31 0:41 / /srv/my\\040data/nested rw - fuse.sshfs host: rw
33 22 0:42 / /tmp rw - ext4 /dev/sdc rw
`

test('a path lies on the mount with the longest point above it, the last one of several', () => {
  const mounts = readMounts(MOUNTS)
  const at = (path: string) => mountOf(path, mounts)
  assert.equal(at('/home/x')?.kind, 'ext4')
  assert.equal(at('/tmpfile')?.point, '/')
  assert.deepEqual([at('/tmp/x')?.point, at('/tmp/x')?.kind], ['/tmp', 'ext4'])
  assert.equal(at('/srv/my data/a')?.kind, 'xfs')
  assert(at('/srv/my data')?.options.includes('nobarrier'))
  assert.equal(at('/srv/my data/nested/deep')?.kind, 'fuse.sshfs')
  assert.equal(mountOf('/x', []), undefined)
})
