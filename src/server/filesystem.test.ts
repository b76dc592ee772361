import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assessFilesystem, filesystemOf, mountOf, readMounts } from './filesystem.ts'

const MOUNTS = `22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro
30 22 0:27 / /tmp rw,nosuid - tmpfs tmpfs rw,size=1g
31 22 0:40 / /srv/my\\040data rw,noatime - xfs /dev/sdb rw,nobarrier
32 31 0:41 / /srv/my\\040data/nested rw - fuse.sshfs host: rw
33 22 0:42 / /tmp rw - ext4 /dev/sdc rw
`

test('a path belongs to the mount with the longest matching mount point, the last of equals', () => {
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

test('filesystems in memory and overlays are refused for all data, network filesystems for metadata', () => {
  const problems = (kind: string, holds: 'metadata' | 'bytes', ...options: string[]) =>
    assessFilesystem(kind, options, holds).problems.length
  for (const kind of ['ext4', 'xfs', 'btrfs', 'zfs', 'something new']) assert.equal(problems(kind, 'metadata', 'rw'), 0)
  for (const kind of ['tmpfs', 'ramfs', 'fuse', 'overlay']) {
    assert.deepEqual([problems(kind, 'metadata'), problems(kind, 'bytes')], [1, 1], kind)
  }
  for (const kind of ['nfs', 'cifs', '9p']) {
    assert.deepEqual([problems(kind, 'metadata'), problems(kind, 'bytes')], [1, 0], kind)
  }
  assert.equal(problems('xfs', 'bytes', 'rw', 'nobarrier'), 1)
  assert.equal(problems('tmpfs', 'metadata', 'barrier=0'), 2)
})

test('a missing folder is assessed by its nearest existing parent', () => {
  assert.deepEqual(filesystemOf('/proc/none/of/these'), filesystemOf('/proc'))
  assert.equal(filesystemOf('/proc').kind, 'proc')
})
