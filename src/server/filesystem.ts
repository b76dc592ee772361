/** Assesses the filesystem of a folder and its mount options, as Linux reports them. */
import { existsSync, readFileSync, realpathSync, statfsSync } from 'node:fs'
import { dirname } from 'node:path'

const KINDS: ReadonlyMap<number, string> = new Map([
  [0xef53, 'ext4'],
  [0x58465342, 'xfs'],
  [0x9123683e, 'btrfs'],
  [0x2fc12fc1, 'zfs'],
  [0xf2f52010, 'f2fs'],
  [0x01021994, 'tmpfs'],
  [0x858458f6, 'ramfs'],
  [0x6969, 'nfs'],
  [0xff534d42, 'cifs'],
  [0xfe534d42, 'cifs'],
  [0x01021997, '9p'],
  [0x65735546, 'fuse'],
  [0x794c7630, 'overlay'],
])

interface Mount {
  readonly point: string
  readonly kind: string
  readonly options: readonly string[]
}

const MOUNTS = '/proc/self/mountinfo'

/** White space is written as octal escapes. */
const unescaped = (text: string): string =>
  text.replaceAll(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)))

/** `id parent device root point options … - kind source options`. */
export function readMounts(text: string): Mount[] {
  return text
    .split('\n')
    .map(line => line.split(' - '))
    .filter(halves => halves.length === 2)
    .map(([first, second]) => {
      const [left, right] = [first!.split(' '), second!.split(' ')]
      const options = [...(left[5] ?? '').split(','), ...(right[2] ?? '').split(',')]
      return { point: unescaped(left[4] ?? '/'), kind: right[0] ?? '', options }
    })
}

/** The mount of a path: the longest mount point above it, and of those the last one mounted. */
export function mountOf(path: string, mounts: readonly Mount[]): Mount | undefined {
  const above = mounts.filter(({ point }) => point === '/' || path === point || path.startsWith(`${point}/`))
  return above.reduce<Mount | undefined>(
    (best, mount) => (best === undefined || mount.point.length >= best.point.length ? mount : best),
    undefined,
  )
}

const mounted = (folder: string): Mount | undefined =>
  existsSync(MOUNTS) ? mountOf(realpathSync(folder), readMounts(readFileSync(MOUNTS, 'utf8'))) : undefined

function kindOf(folder: string, mount: Mount | undefined): string {
  if (mount !== undefined) return mount.kind.replace(/^nfs4$/, 'nfs').replace(/^fuse\..*$/, 'fuse')
  const { type } = statfsSync(folder)
  return KINDS.get(Number(type) >>> 0) ?? `of type 0x${(Number(type) >>> 0).toString(16)}`
}

const IN_MEMORY = 'is in memory: all data are lost at a restart'
const BY_NETWORK = 'is a network filesystem, which the metadata engine does not support'

const UNSAFE: Readonly<Record<string, string>> = {
  tmpfs: IN_MEMORY,
  ramfs: IN_MEMORY,
  nfs: BY_NETWORK,
  cifs: BY_NETWORK,
  '9p': BY_NETWORK,
  fuse: 'is served by another process, which may not honour syncs',
  overlay: "is a container's writable layer: it is deleted with the container",
}

/** The filesystem of a folder. */
export interface FilesystemFacts {
  readonly kind: string
  /** Why synced data may be lost there; empty when there is no known problem. */
  readonly problems: readonly string[]
}

/** Blobs may be on a network filesystem; the metadata engine may not. */
export function assessFilesystem(
  kind: string,
  options: readonly string[],
  holds: 'metadata' | 'bytes',
): FilesystemFacts {
  const why = UNSAFE[kind]
  const problems = why === undefined || (holds === 'bytes' && why === BY_NETWORK) ? [] : [`${kind} ${why}`]
  const unflushed = options.filter(option => option === 'nobarrier' || option === 'barrier=0')
  if (unflushed.length === 0) return { kind, problems }
  return {
    kind,
    problems: [...problems, `it is mounted with ${unflushed.join(', ')}: a power failure loses synced data`],
  }
}

/** A folder that does not exist yet is assessed by its nearest existing parent. */
export function filesystemOf(folder: string, holds: 'metadata' | 'bytes' = 'metadata'): FilesystemFacts {
  let there = folder
  while (!existsSync(there) && dirname(there) !== there) there = dirname(there)
  const mount = mounted(there)
  return assessFilesystem(kindOf(there, mount), mount?.options ?? [], holds)
}
