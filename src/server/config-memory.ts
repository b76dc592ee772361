/** `--memory`: a server that keeps nothing, and the flags that make no sense beside it. */
import { BadConfig } from './bad-config.ts'

/** Each says where something is kept, or how well. */
const ABOUT_DISKS = ['data', 'meta', 'blobs', 'require-durable-filesystem'] as const

export interface GivenSettings {
  /** By the command line. */
  flag(name: string): string | undefined
  /** By the environment. */
  variable(name: string): string | undefined
}

const isOff = (value: string | undefined): boolean => value === undefined || value === 'false'

/**
 * A flag beside it is a mistake. A variable gives way to the flag `--memory`, as it does to every flag: a container's
 * image says where its data are. Beside the variable, it is a mistake as well.
 */
export function checkMemory({ flag, variable }: GivenSettings): void {
  const byFlag = flag('memory') !== undefined
  const given = (name: string): string | undefined => flag(name) ?? (byFlag ? undefined : variable(name))
  const beside = ABOUT_DISKS.find(name => !isOff(given(name)))
  if (beside !== undefined) throw new BadConfig(`--memory keeps nothing on a disk: --${beside} makes no sense with it`)
  const workers = given('workers')
  if (workers !== undefined && workers !== '1') {
    throw new BadConfig('--memory is one process: --workers must be 1 or left out')
  }
}
