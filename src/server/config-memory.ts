/** `--memory`: a server without a data folder, and the flags that conflict with it. */
import { BadConfig } from './bad-config.ts'

/** Flags about where or how durably data are stored. */
const DISK_FLAGS = ['data', 'meta', 'blobs', 'blobs-from', 'cluster', 'require-durable-filesystem'] as const

interface GivenSettings {
  /** From the command line. */
  flag(name: string): string | undefined
  /** From the environment. */
  variable(name: string): string | undefined
}

const isOff = (value: string | undefined): boolean => value === undefined || value === 'false'

/**
 * A conflicting flag is an error. The flag `--memory` overrides a variable, as every flag does, since a container image
 * may set where its data are. The variable HOLDFAST_MEMORY conflicts with both.
 */
export function checkMemory({ flag, variable }: GivenSettings): void {
  const byFlag = flag('memory') !== undefined
  const given = (name: string): string | undefined => flag(name) ?? (byFlag ? undefined : variable(name))
  const beside = DISK_FLAGS.find(name => !isOff(given(name)))
  if (beside !== undefined)
    throw new BadConfig(`--memory stores nothing on disk and cannot be combined with --${beside}`)
  const workers = given('workers')
  if (workers !== undefined && workers !== '1') {
    throw new BadConfig('--memory runs one process: --workers must be 1 or left out')
  }
}
