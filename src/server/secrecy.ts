/**
 * Key files must be readable by their owner alone. The server creates them so; copying or restoring may change that.
 */
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { realDisk } from '../lib/disk.ts'
import { systemRandom } from '../lib/random.ts'

const KEY_FILES = ['keyring', 'root-key']
const OTHERS = 0o007
const GROUP = 0o070

const modeOf = (path: string): number => statSync(path).mode & 0o777

/** False on filesystems that show the same mode for everything. */
async function hasPermissions(folder: string): Promise<boolean> {
  const probe = join(folder, `mode-${systemRandom.bytes(4).toString('hex')}`)
  await realDisk.open(probe, 'create').then(file => file.close())
  try {
    return (modeOf(probe) & OTHERS) === 0
  } finally {
    await realDisk.remove(probe)
  }
}

/**
 * Checks file modes. A key that every user can read is refused, since all data encrypted with it could be read. Group
 * access only causes a warning, since Kubernetes grants it for every file of a volume (`fsGroup`).
 */
export async function checkSecrecy(folder: string): Promise<readonly string[]> {
  const warnings: string[] = []
  for (const path of KEY_FILES.map(name => join(folder, name)).filter(path => existsSync(path))) {
    const mode = modeOf(path)
    const shown = `${path} has mode ${mode.toString(8)}`
    const advice = `Make new keys, or chmod 600 ${path}`
    if ((mode & OTHERS) !== 0) {
      const line = `${shown}: every user of this machine can read it. ${advice}`
      if (await hasPermissions(folder)) throw new Error(line)
      warnings.push(`${line} (this filesystem keeps no permissions)`)
    } else if ((mode & GROUP) !== 0) warnings.push(`${shown}: its group can read it. ${advice}`)
  }
  return warnings
}
