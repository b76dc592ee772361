/** What kind of filesystem a folder lies on, and how it is mounted: as Linux tells it. */
import { existsSync, readFileSync, realpathSync, statfsSync } from 'node:fs'

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

/** Spaces and the like stand as octal escapes. */
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

/** The mount that a path lies on: the longest point above it, and of those the last one mounted. */
export function mountOf(path: string, mounts: readonly Mount[]): Mount | undefined {
  const above = mounts.filter(({ point }) => point === '/' || path === point || path.startsWith(`${point}/`))
  return above.reduce<Mount | undefined>(
    (best, mount) => (best === undefined || mount.point.length >= best.point.length ? mount : best),
    undefined,
  )
}

const mounted = (folder: string): Mount | undefined =>
  existsSync(MOUNTS) ? mountOf(realpathSync(folder), readMounts(readFileSync(MOUNTS, 'utf8'))) : undefined

export function kindOfFilesystem(folder: string): string {
  const byMount = mounted(folder)?.kind
  if (byMount !== undefined) return byMount.replace(/^nfs4$/, 'nfs').replace(/^fuse\..*$/, 'fuse')
  const { type } = statfsSync(folder)
  return KINDS.get(Number(type) >>> 0) ?? `of type 0x${(Number(type) >>> 0).toString(16)}`
}

export const mountOptions = (folder: string): readonly string[] => mounted(folder)?.options ?? []
